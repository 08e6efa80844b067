use structgen_vocab::{TokenId, Vocabulary};

use crate::GenerateError;

/// Checks that ids mean the same in both vocabularies, except those that only pad the logits.
pub(super) fn check_vocabularies(
    target: &Vocabulary,
    draft: &Vocabulary,
) -> Result<(), GenerateError> {
    let meaning = |vocabulary: &Vocabulary, id: TokenId| {
        if vocabulary.is_special(id) {
            let name = vocabulary.token_name(id).unwrap_or_default();
            return format!("the special token {name:?}");
        }
        match vocabulary.token_bytes(id) {
            Some(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
            None => "nothing".to_owned(),
        }
    };
    for id in (0..target.len().max(draft.len()) as u32).map(TokenId) {
        let specials = (target.is_special(id), draft.is_special(id));
        let is_same = match specials {
            (true, true) => target.token_name(id) == draft.token_name(id),
            (false, false) => target.token_bytes(id) == draft.token_bytes(id),
            _ => false,
        };
        if !is_same {
            return Err(GenerateError::DraftVocabulary {
                token: id,
                target: meaning(target, id),
                draft: meaning(draft, id),
            });
        }
    }
    Ok(())
}
