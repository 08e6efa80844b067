//! A grammar's own text, and those that it imports.

use std::borrow::Cow;

use pest::iterators::Pairs;
use structgen_grammar::keyed::KeyedMap;
use structgen_grammar::{GrammarBuilder, RuleId, UniqueNames};

use super::atoms::literal;
use super::files::{FileReader, GbnfFileError, resolve};
use super::syntax::{self, Rule};
use super::{GbnfError, GbnfOptions};

/// A text with rules.
pub(super) struct Source<'t> {
    pub(super) text: Cow<'t, str>,
    /// The path below the folder. A grammar that is only a text has none.
    pub(super) path: Option<String>,
    pub(super) imports: Vec<Import>,
    /// The prefix of its rules in the grammar, if it is imported.
    prefix: Option<String>,
}

/// The name of an import.
pub(super) struct Import {
    pub(super) name: String,
    /// The index of the imported text.
    pub(super) source: usize,
}

/// The maximum length of a chain of imports.
const MAX_DEPTH: usize = 64;

/// The text, followed by all that it imports, each once.
pub(super) fn gather<'t>(
    text: &'t str,
    options: &GbnfOptions,
    files: &mut FileReader<'_>,
) -> Result<Vec<Source<'t>>, GbnfError> {
    let path = options.files.as_ref().and_then(|files| files.name());
    let mut sources = vec![Source {
        text: Cow::Borrowed(text),
        path: path.map(str::to_owned),
        imports: Vec::new(),
        prefix: None,
    }];
    if options.strict {
        return Ok(sources);
    }
    let mut known: KeyedMap<String, usize> = KeyedMap::default();
    known.extend(path.map(|path| (path.to_owned(), 0)));
    // The path from the first text to the current one, with the remaining imports.
    let mut way = vec![(0, named(&sources[0])?.into_iter())];
    while let Some((importer, wanted)) = way.last_mut() {
        let importer = *importer;
        let Some((at, name, path)) = wanted.next() else {
            way.pop();
            continue;
        };
        let refused = |sources: &[Source<'_>], error| {
            let source = &sources[importer];
            GbnfError::of_file(&source.text, at, error).in_file(source.path.as_deref())
        };
        let path = resolve(sources[importer].path.as_deref(), &path)
            .map_err(|error| refused(&sources, error))?;
        let (found, is_new) = match known.get(&path) {
            Some(&found) => (found, false),
            None => {
                let read = files
                    .read(&path)
                    .map_err(|error| refused(&sources, error))?;
                let prefix = match &sources[importer].prefix {
                    Some(outer) => format!("{outer}-{name}"),
                    None => name.clone(),
                };
                known.insert(path.clone(), sources.len());
                sources.push(Source {
                    text: Cow::Owned(read),
                    path: Some(path),
                    imports: Vec::new(),
                    prefix: Some(prefix),
                });
                (sources.len() - 1, true)
            }
        };
        if let Some(first) = way.iter().position(|&(source, _)| source == found) {
            let chain = way[first..]
                .iter()
                .map(|&(source, _)| source)
                .chain([found]);
            let names = chain.map(|source| {
                sources[source]
                    .path
                    .clone()
                    .unwrap_or_else(|| "the grammar".to_owned())
            });
            return Err(refused(&sources, GbnfFileError::Cycle(names.collect())));
        }
        sources[importer].imports.push(Import {
            name,
            source: found,
        });
        if is_new {
            if way.len() > MAX_DEPTH {
                return Err(refused(&sources, GbnfFileError::TooDeep(MAX_DEPTH)));
            }
            let wanted = named(&sources[found])?;
            way.push((found, wanted.into_iter()));
        }
    }
    Ok(sources)
}

/// The imports of a text: position, name and path.
fn named(source: &Source<'_>) -> Result<Vec<(usize, String, String)>, GbnfError> {
    let text = &*source.text;
    // Most grammars have none and are not tokenized twice.
    if !text.contains("%import") {
        return Ok(Vec::new());
    }
    let (tokens, _) = syntax::tokens(text)?;
    let mut found = Vec::new();
    for token in tokens.filter(|token| token.as_rule() == Rule::import) {
        let (mut name, mut path) = (String::new(), String::new());
        let at = token.as_span().start();
        for part in token.into_inner() {
            match part.as_rule() {
                Rule::name => name = part.as_str().to_owned(),
                _ => {
                    path = literal(text, part)
                        .map_err(|error| error.in_file(source.path.as_deref()))?
                }
            }
        }
        found.push((at, name, path));
    }
    Ok(found)
}

/// The tokens of a text, and its rules by their names in it.
pub(super) struct Declared<'s> {
    pub(super) tokens: Pairs<'s, Rule>,
    /// The position of the first invalid token, or the end of the text.
    pub(super) end: usize,
    pub(super) rules: KeyedMap<&'s str, RuleId>,
}

/// Declares the rules of all texts, which may be used before they are defined. Those of the first text keep their
/// names; those of others are prefixed.
pub(super) fn declare<'s>(
    sources: &'s [Source<'_>],
    builder: &mut GrammarBuilder,
    taken: &mut UniqueNames,
) -> Result<Vec<Declared<'s>>, GbnfError> {
    let mut all = Vec::new();
    for source in sources {
        let (tokens, end) = syntax::tokens(&source.text)?;
        let mut rules = KeyedMap::default();
        let mut previous = None;
        for token in tokens.clone() {
            if token.as_rule() == Rule::define
                && let Some(name) = previous
            {
                let prefix = source.prefix.as_deref();
                rules.entry(name).or_insert_with(|| {
                    builder.declare(match prefix {
                        Some(prefix) => taken.take(&format!("{prefix}-{name}")),
                        None => taken.take(name),
                    })
                });
            }
            previous = (token.as_rule() == Rule::name).then(|| token.as_str());
        }
        all.push(Declared { tokens, end, rules });
    }
    Ok(all)
}
