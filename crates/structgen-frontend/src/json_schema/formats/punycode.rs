//! Punycode (RFC 3492), without the prefix `xn--`.

/// The label that the lower-case text encodes.
pub(super) fn decode(text: &str) -> Option<Vec<char>> {
    let (basic, extended) = text.rsplit_once('-').unwrap_or(("", text));
    let mut label: Vec<char> = basic.chars().collect();
    let (mut code, mut index, mut bias) = (FIRST_CODE, 0_u32, FIRST_BIAS);
    let mut digits = extended.bytes().peekable();
    while digits.peek().is_some() {
        let before = index;
        let (mut weight, mut position) = (1_u32, BASE);
        loop {
            let digit = match digits.next()? {
                letter @ b'a'..=b'z' => u32::from(letter - b'a'),
                number @ b'0'..=b'9' => u32::from(number - b'0') + 26,
                _ => return None,
            };
            index = index.checked_add(digit.checked_mul(weight)?)?;
            let threshold = threshold(position, bias);
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(BASE - threshold)?;
            position += BASE;
        }
        let length = label.len() as u32 + 1;
        bias = adapt(index - before, length, before == 0);
        code = code.checked_add(index / length)?;
        index %= length;
        label.insert(index as usize, char::from_u32(code)?);
        index += 1;
    }
    Some(label)
}

/// The encoded label, which has at most some dozens of characters.
pub(super) fn encode(label: &[char]) -> String {
    let mut text: String = label.iter().filter(|c| c.is_ascii()).collect();
    let basic = text.len() as u32;
    if basic > 0 {
        text.push('-');
    }
    let (mut code, mut delta, mut bias, mut done) = (FIRST_CODE, 0, FIRST_BIAS, basic);
    while done < label.len() as u32 {
        let codes = label.iter().map(|&c| c as u32);
        let next = codes.filter(|&other| other >= code).min().unwrap_or(code);
        delta += (next - code) * (done + 1);
        code = next;
        for &c in label {
            if (c as u32) < code {
                delta += 1;
            }
            if c as u32 == code {
                push_number(&mut text, delta, bias);
                bias = adapt(delta, done + 1, done == basic);
                delta = 0;
                done += 1;
            }
        }
        delta += 1;
        code += 1;
    }
    text
}

const BASE: u32 = 36;
const FIRST_BIAS: u32 = 72;
const FIRST_CODE: u32 = 128;

fn push_number(text: &mut String, number: u32, bias: u32) {
    let (mut rest, mut position) = (number, BASE);
    loop {
        let threshold = threshold(position, bias);
        if rest < threshold {
            text.push(digit(rest));
            return;
        }
        let above = rest - threshold;
        text.push(digit(threshold + above % (BASE - threshold)));
        rest = above / (BASE - threshold);
        position += BASE;
    }
}

fn digit(value: u32) -> char {
    char::from_digit((value + 10) % BASE, BASE).unwrap_or_default()
}

fn threshold(position: u32, bias: u32) -> u32 {
    position.saturating_sub(bias).clamp(1, 26)
}

/// Section 6.1.
fn adapt(delta: u32, points: u32, is_first: bool) -> u32 {
    let mut delta = if is_first { delta / 700 } else { delta / 2 };
    delta += delta / points;
    let mut position = 0;
    while delta > 455 {
        delta /= 35;
        position += BASE;
    }
    position + BASE * delta / (delta + 38)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_encoded_and_decoded() {
        for (label, text) in [
            ("他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"),
            ("bücher", "bcher-kva"),
            ("l·l", "ll-0ea"),
            ("ليهمابتكلموشعربي؟", "egbpdaj6bu4bxfgehfvwxn"),
            ("3年b組金八先生", "3b-ww4c5e180e575a65lsy2b"),
        ] {
            let chars: Vec<char> = label.chars().collect();
            assert_eq!(encode(&chars), text);
            assert_eq!(decode(text), Some(chars));
        }
    }

    #[test]
    fn texts_that_encode_nothing_are_refused() {
        for text in ["ü", "a_", "a-99999999", "x"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
