//! The strings of a file's tokens by id, checked for contradictions.

use crate::error::{check_size, shorten};
use crate::file::{AddedToken, Model, Pieces};
use crate::{TokenId, Vocabulary, VocabularyError};
use std::collections::{BTreeMap, HashMap};

/// A map from strings of a file. Its hash function has a random key: under a fixed one, a hostile file could make all
/// of its strings collide.
pub(crate) type NameMap<'a, T> = HashMap<&'a str, T>;

/// The strings of a model by id.
pub(crate) fn model_names<M>(model: &Model<M>) -> Result<BTreeMap<TokenId, &str>, VocabularyError> {
    let pointer = "/model/vocab";
    let mut names = BTreeMap::new();
    match &model.vocab {
        Pieces::Missing => {}
        Pieces::Scores(pieces) => {
            check_size("the token ids", pieces.len(), Vocabulary::MAX_TOKENS)?;
            names.extend(
                (0..)
                    .map(TokenId)
                    .zip(pieces)
                    .map(|(id, (name, _))| (id, name.as_str())),
            );
        }
        Pieces::Ids(pieces) => {
            let mut ids: NameMap<'_, TokenId> = NameMap::new();
            for (name, id) in pieces {
                let id = checked_id(*id)?;
                if let Some(first) = names.insert(id, name.as_str()) {
                    return Err(conflict(pointer, id, first, name));
                }
                if ids.insert(name, id).is_some() {
                    return Err(conflict(pointer, id, "a token with another id", name));
                }
            }
        }
    }
    Ok(names)
}

/// Adds the added tokens to those of a model; returns the special ones.
pub(crate) fn add_tokens<'a>(
    names: &mut BTreeMap<TokenId, &'a str>,
    added: &'a [AddedToken],
) -> Result<BTreeMap<TokenId, &'a str>, VocabularyError> {
    let pointer = "/added_tokens";
    let model_ids: NameMap<'_, TokenId> = names.iter().map(|(&id, &name)| (name, id)).collect();
    let mut seen: NameMap<'_, &AddedToken> = NameMap::new();
    let mut specials = BTreeMap::new();
    for token in added {
        let id = checked_id(token.id)?;
        // A token with an empty string never matches and decodes to nothing: a hole.
        if token.content.is_empty() {
            continue;
        }
        if let Some(first) = seen.insert(&token.content, token)
            && (first.id, first.special) != (token.id, token.special)
        {
            return Err(conflict(pointer, id, "another added token", &token.content));
        }
        if model_ids
            .get(token.content.as_str())
            .is_some_and(|&model_id| model_id != id)
        {
            return Err(conflict(
                pointer,
                id,
                "a token of the model",
                &token.content,
            ));
        }
        if let Some(first) = names.insert(id, &token.content)
            && first != token.content
        {
            return Err(conflict(pointer, id, first, &token.content));
        }
        if token.special {
            specials.insert(id, token.content.as_str());
        }
    }
    Ok(specials)
}

fn conflict(pointer: &'static str, id: TokenId, first: &str, second: &str) -> VocabularyError {
    VocabularyError::ConflictingToken {
        pointer,
        id,
        first: shorten(first),
        second: shorten(second),
    }
}

pub(crate) fn checked_id(id: u64) -> Result<TokenId, VocabularyError> {
    match u32::try_from(id) {
        Ok(small) if (small as usize) < Vocabulary::MAX_TOKENS => Ok(TokenId(small)),
        _ => Err(VocabularyError::TooLarge {
            what: "a token id",
            size: id,
            limit: Vocabulary::MAX_TOKENS as u64 - 1,
        }),
    }
}
