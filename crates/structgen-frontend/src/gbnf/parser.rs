//! From tokens to rules.

use pest::iterators::Pair;
use structgen_grammar::keyed::KeyedMap;
use structgen_grammar::{Grammar, GrammarBuilder, RuleId, UniqueNames};

use super::atoms::Atoms;
use super::extension::{self, Operator};
use super::files::FileReader;
use super::groups::{Item, OpenExpression};
use super::schemas::Schemas;
use super::sources::{self, Declared, Source};
use super::syntax::{self, Rule};
use super::warning::located;
use super::{GbnfError, GbnfErrorKind, GbnfOptions, GbnfWarning};

/// A grammar, and the positions of its rules.
pub(super) struct Parsed {
    pub(super) grammar: Grammar,
    /// The grammar with each operator replaced by its operands, if there are operators: which rules are used.
    pub(super) outline: Option<Grammar>,
    /// By name, without the rules for deep groups and those of other files.
    pub(super) places: KeyedMap<String, usize>,
    /// Warnings of schemas.
    pub(super) of_schemas: Vec<GbnfWarning>,
}

pub(super) fn parse(text: &str, options: &GbnfOptions) -> Result<Parsed, GbnfError> {
    let mut files = FileReader::new(options.files.as_ref());
    let sources = sources::gather(text, options, &mut files)?;
    let mut shared = Shared {
        builder: GrammarBuilder::new(),
        names: UniqueNames::default(),
        operators: Vec::new(),
        hoisted: 0,
        schemas: Schemas::new(options.schema.clone()),
        files,
    };
    let declared = sources::declare(&sources, &mut shared.builder, &mut shared.names)?;
    let mut places = KeyedMap::default();
    let mut of_schemas = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let mut parser = GbnfParser::new(index, &sources, &declared, options, &mut shared);
        let read = parser
            .rules()
            .map_err(|error| error.in_file(source.path.as_deref()))?;
        if index == 0 {
            places.extend(read.into_iter().map(|(name, at)| (name.to_owned(), at)));
        }
        let found = std::mem::take(&mut shared.schemas.warnings);
        of_schemas.extend(located(&source.text, source.path.as_deref(), found));
    }
    let Some(&root) = declared[0].rules.get(options.root.as_str()) else {
        let kind = GbnfErrorKind::NoRoot(options.root.clone());
        return Err(GbnfError::at(text, 0, kind).in_file(sources[0].path.as_deref()));
    };
    let grammar = shared.builder.finish(root, shared.schemas.into_form());
    Ok(Parsed {
        outline: extension::outline(&grammar, &shared.operators),
        grammar: extension::resolve(&sources, grammar, &shared.operators)?,
        places,
        of_schemas,
    })
}

/// What all texts of a grammar share.
pub(super) struct Shared<'o> {
    pub(super) builder: GrammarBuilder,
    /// The names of all rules in the texts.
    pub(super) names: UniqueNames,
    pub(super) operators: Vec<Operator>,
    /// The number of rules created for deep groups and operators.
    pub(super) hoisted: u32,
    schemas: Schemas,
    files: FileReader<'o>,
}

/// What is expected next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// The name of a rule, or an import.
    Rule,
    /// The `::=` after a name.
    Define,
    /// An atom or operator; whether a line end is just white space here, as after `|`.
    Item { over_lines: bool },
    /// The end of a line.
    LineEnd,
}

/// Parses one text.
pub(super) struct GbnfParser<'p, 't, 'o> {
    pub(super) text: &'t str,
    /// The index of the text.
    pub(super) source: usize,
    pub(super) sources: &'t [Source<'t>],
    pub(super) declared: &'t [Declared<'t>],
    pub(super) shared: &'p mut Shared<'o>,
    /// Where rules and imports are defined.
    places: KeyedMap<&'t str, usize>,
    pub(super) max_nesting: u32,
    /// Whether extensions are refused.
    strict: bool,
    pub(super) expected: Expected,
    /// The open groups; the first is the rule. Empty between rules.
    pub(super) frames: Vec<OpenExpression<'t>>,
    /// The rule that is being read.
    pub(super) rule: Option<(&'t str, RuleId)>,
    /// The first undefined name. A syntax error is reported first, since it may hide the definition.
    undefined: Option<GbnfError>,
}

impl<'p, 't, 'o> GbnfParser<'p, 't, 'o> {
    fn new(
        source: usize,
        sources: &'t [Source<'t>],
        declared: &'t [Declared<'t>],
        options: &GbnfOptions,
        shared: &'p mut Shared<'o>,
    ) -> Self {
        Self {
            text: &sources[source].text,
            source,
            sources,
            declared,
            shared,
            places: KeyedMap::default(),
            max_nesting: options.max_nesting,
            strict: options.strict,
            expected: Expected::Rule,
            frames: Vec::new(),
            rule: None,
            undefined: None,
        }
    }

    /// Defines the rules of the text; returns their positions.
    fn rules(&mut self) -> Result<KeyedMap<&'t str, usize>, GbnfError> {
        let Declared { tokens, end, .. } = &self.declared[self.source];
        for token in tokens.clone() {
            self.token(token)?;
        }
        if *end < self.text.len() {
            let broken = syntax::broken_token(self.text, *end);
            return Err(broken.unwrap_or_else(|| self.unexpected(*end)));
        }
        self.end()?;
        match self.undefined.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut self.places)),
        }
    }

    pub(super) fn error(&self, position: usize, kind: GbnfErrorKind) -> GbnfError {
        GbnfError::at(self.text, position, kind)
    }

    fn token(&mut self, token: Pair<'t, Rule>) -> Result<(), GbnfError> {
        let position = token.as_span().start();
        match (self.expected, token.as_rule()) {
            (Expected::Rule | Expected::LineEnd, Rule::line_ends) => {
                self.expected = Expected::Rule;
                Ok(())
            }
            (Expected::Define, Rule::define) => {
                self.expected = Expected::Item { over_lines: true };
                Ok(())
            }
            (Expected::Item { over_lines }, Rule::line_ends) => {
                if !over_lines && self.frames.len() < 2 {
                    self.end_rule()?;
                }
                Ok(())
            }
            (Expected::Rule | Expected::Item { .. }, _)
                if self.strict && extension_name(&token).is_some() =>
            {
                let kind = GbnfErrorKind::Extension(extension_name(&token).unwrap_or_default());
                Err(self.error(position, kind))
            }
            (Expected::Rule, Rule::name) => self.define(token.as_str(), position),
            (Expected::Rule, Rule::import) => self.import(token),
            (Expected::Item { .. }, Rule::define | Rule::import)
            | (Expected::Rule | Expected::Define | Expected::LineEnd, _) => {
                Err(self.unexpected(position))
            }
            (Expected::Item { .. }, Rule::bar) => {
                self.end_alternative()?;
                self.expected = Expected::Item { over_lines: true };
                Ok(())
            }
            (Expected::Item { .. }, Rule::and) => self.and(position),
            (Expected::Item { .. }, Rule::not) => {
                self.not(position);
                Ok(())
            }
            (Expected::Item { .. }, rule) => {
                self.expected = Expected::Item { over_lines: false };
                match rule {
                    Rule::open
                    | Rule::capture
                    | Rule::limit
                    | Rule::tokens_limit
                    | Rule::temperature => self.open(token),
                    Rule::close => self.close(position),
                    Rule::quantifier | Rule::counter => self.repeat(token),
                    _ => self.atom(token),
                }
            }
        }
    }

    /// The name of a rule, before its `::=`.
    fn define(&mut self, name: &'t str, position: usize) -> Result<(), GbnfError> {
        self.expected = Expected::Define;
        let Some(&rule) = self.declared[self.source].rules.get(name) else {
            // No `::=` follows it; the next token is then an error.
            return Ok(());
        };
        self.place(name, position)?;
        self.rule = Some((name, rule));
        self.frames = vec![OpenExpression::new(position)];
        Ok(())
    }

    /// `%import name "file"`: the file was read before.
    fn import(&mut self, token: Pair<'t, Rule>) -> Result<(), GbnfError> {
        self.expected = Expected::LineEnd;
        match token.into_inner().next() {
            Some(name) => self.place(name.as_str(), name.as_span().start()),
            None => Ok(()),
        }
    }

    /// Records the definition of a name, of which there may be one.
    fn place(&mut self, name: &'t str, position: usize) -> Result<(), GbnfError> {
        if let Some(&first) = self.places.get(name) {
            let kind = GbnfErrorKind::DuplicateRule {
                name: name.to_owned(),
                first_line: GbnfError::line_of(self.text, first),
            };
            return Err(self.error(position, kind));
        }
        self.places.insert(name, position);
        Ok(())
    }

    /// The end of the text.
    fn end(&mut self) -> Result<(), GbnfError> {
        match self.expected {
            Expected::Rule | Expected::LineEnd => {}
            Expected::Item { .. } if self.frames.len() < 2 => self.end_rule()?,
            Expected::Item { .. } | Expected::Define => {
                return Err(self.unexpected(self.text.len()));
            }
        }
        Ok(())
    }

    fn end_rule(&mut self) -> Result<(), GbnfError> {
        self.end_alternative()?;
        if let (Some(frame), Some((_, rule))) = (self.frames.pop(), self.rule.take()) {
            let body = self.choice(frame.arms);
            self.shared.builder.define(rule, body.expr);
        }
        self.expected = Expected::Rule;
        Ok(())
    }

    fn atom(&mut self, token: Pair<'t, Rule>) -> Result<(), GbnfError> {
        let position = token.as_span().start();
        let expr = match token.as_rule() {
            Rule::name | Rule::qualified => match self.named(token.as_str()) {
                Some(rule) => self.shared.builder.rule(rule),
                None => {
                    if self.undefined.is_none() {
                        self.undefined = Some(self.undefined(token.as_str(), position));
                    }
                    self.shared.builder.never()
                }
            },
            Rule::json => {
                let Shared {
                    schemas,
                    files,
                    builder,
                    ..
                } = &mut *self.shared;
                let from = self.sources[self.source].path.as_deref();
                schemas.values(self.text, from, token, files, builder)?
            }
            _ => Atoms {
                text: self.text,
                builder: &mut self.shared.builder,
            }
            .atom(token)?,
        };
        self.push(Item { expr, height: 0 });
        Ok(())
    }

    /// The rule of a name: `rule`, `import` for the root of another file, or `import::rule`.
    fn named(&self, name: &str) -> Option<RuleId> {
        let own = &self.declared[self.source].rules;
        let (import, rule) = match name.split_once("::") {
            Some(parts) => parts,
            None => match own.get(name) {
                Some(&rule) => return Some(rule),
                None => (name, "root"),
            },
        };
        let source = self.imported(import)?;
        let rules = &self.declared[source].rules;
        rules.get(rule).copied()
    }

    /// The text imported under this name.
    pub(super) fn imported(&self, name: &str) -> Option<usize> {
        let imports = &self.sources[self.source].imports;
        let import = imports.iter().find(|import| import.name == name)?;
        Some(import.source)
    }
}

/// The description of a token that llama.cpp does not have.
fn extension_name(token: &Pair<'_, Rule>) -> Option<&'static str> {
    Some(match token.as_rule() {
        Rule::name if token.as_str().contains('_') => "`_` in the name of a rule",
        Rule::regex => "a pattern between slashes",
        Rule::until => "`%until`",
        Rule::capture => "a capture",
        Rule::limit => "`%chars`",
        Rule::tokens_limit => "`%tokens`",
        Rule::temperature => "`%temperature`",
        Rule::json => "a JSON Schema",
        Rule::import | Rule::qualified => "an import",
        Rule::and | Rule::not => "an operator of sets",
        _ => return None,
    })
}
