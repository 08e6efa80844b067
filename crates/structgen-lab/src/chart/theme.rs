use std::fmt;
use std::str::FromStr;

/// The colour scheme of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// The viewer's, if the format can follow it; otherwise light.
    #[default]
    Auto,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl FromStr for Theme {
    type Err = UnknownTheme;

    fn from_str(name: &str) -> Result<Self, UnknownTheme> {
        match name {
            "auto" => Ok(Self::Auto),
            "light" => Ok(Self::Light),
            "dark" => Ok(Self::Dark),
            _ => Err(UnknownTheme(name.to_owned())),
        }
    }
}

impl fmt::Display for Theme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        })
    }
}

/// A name that is not a theme's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of the themes auto, light and dark")]
pub struct UnknownTheme(pub String);

/// The role of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The background.
    Ground,
    /// Titles and labels.
    Text,
    /// Less important text, such as the numbers of axes.
    Soft,
    /// Grid lines.
    Grid,
    /// References for comparison.
    Reference,
    /// A series, by its index.
    Series(usize),
}

/// Colours that differ in lightness as well as hue, for colour-blind readers.
const LIGHT: [u32; 8] = [
    0x1f_6f_b4, 0xd9_58_0e, 0x2b_8a_3e, 0x9c_36_b5, 0xb3_8b_00, 0x0b_87_93, 0xc9_2a_4a, 0x5c_5f_66,
];
const DARK: [u32; 8] = [
    0x6c_b6_ff, 0xff_9a_5c, 0x7d_d8_8f, 0xd9_9a_f0, 0xe6_c4_4d, 0x5c_d5_e0, 0xff_8a_a0, 0xad_b5_bd,
];

impl Ink {
    /// The number of series with distinct colours.
    pub(super) const SERIES: usize = LIGHT.len();

    /// Returns the colour as RGB, in a light or a dark scheme.
    pub(super) fn rgb(self, is_dark: bool) -> u32 {
        let pick = |light, dark| if is_dark { dark } else { light };
        match self {
            Self::Ground => pick(0xff_ff_ff, 0x16_1b_22),
            Self::Text => pick(0x1f_23_28, 0xe6_ed_f3),
            Self::Soft => pick(0x59_63_6e, 0x9d_a7_b3),
            Self::Grid => pick(0xe3_e6_ea, 0x30_36_3d),
            Self::Reference => pick(0x8b_94_9e, 0x8b_94_9e),
            Self::Series(number) => pick(LIGHT[number % Self::SERIES], DARK[number % Self::SERIES]),
        }
    }

    /// Returns the name of the colour's CSS class.
    pub(super) fn class(self) -> String {
        match self {
            Self::Ground => "ground".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Soft => "soft".to_owned(),
            Self::Grid => "grid".to_owned(),
            Self::Reference => "reference".to_owned(),
            Self::Series(number) => format!("s{}", number % Self::SERIES),
        }
    }

    /// Returns all colours.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let plain = [
            Self::Ground,
            Self::Text,
            Self::Soft,
            Self::Grid,
            Self::Reference,
        ];
        plain.into_iter().chain((0..Self::SERIES).map(Self::Series))
    }
}
