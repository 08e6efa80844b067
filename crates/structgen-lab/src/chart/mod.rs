//! Charts of lines and of bars, and screens of terminals, as SVG, and as PNG with the feature `png`.
//!
//! A chart becomes a [`Scene`] of rectangles, lines and texts, which either writer draws. All texts are
//! horizontal and in a monospaced font, so their widths are known and none lies on another. An SVG follows the
//! reader's light or dark scheme unless a [`Theme`] is asked for.

mod axis;
mod bars;
mod lines;
#[cfg(feature = "png")]
mod png;
mod scene;
mod screen;
mod svg;
mod theme;

pub use axis::{Axis, Scale};
pub use bars::{BarChart, BarGroup};
pub use lines::{Line, LineChart};
pub use scene::Scene;
pub use screen::{Cell, CellInk, Screen, text_bar};
pub use theme::Theme;

/// A picture that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChartError {
    /// The picture would be larger than pictures may be.
    #[error("the picture would have {width} by {height} pixels, which is too much")]
    Size {
        /// Its width.
        width: u32,
        /// Its height.
        height: u32,
    },
    /// The PNG could not be encoded.
    #[error("the picture cannot be encoded: {0}")]
    Encode(String),
}

/// A chart of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    /// Lines over two axes.
    Lines(LineChart),
    /// Horizontal bars in groups.
    Bars(BarChart),
    /// A screen of a terminal.
    Screen(Screen),
}

impl Chart {
    /// The chart as an SVG document.
    #[must_use]
    pub fn svg(&self, theme: Theme) -> String {
        svg::write(&self.scene(), theme)
    }

    /// The chart as a PNG file, at twice the size for sharp screens. [`Theme::Auto`] is light.
    ///
    /// # Errors
    /// [`ChartError`].
    #[cfg(feature = "png")]
    pub fn png(&self, theme: Theme) -> Result<Vec<u8>, ChartError> {
        png::write(&self.scene(), theme)
    }

    /// What is drawn.
    #[must_use]
    pub fn scene(&self) -> Scene {
        match self {
            Self::Lines(chart) => chart.scene(),
            Self::Bars(chart) => chart.scene(),
            Self::Screen(screen) => screen.scene(),
        }
    }
}

impl From<LineChart> for Chart {
    fn from(chart: LineChart) -> Self {
        Self::Lines(chart)
    }
}

impl From<BarChart> for Chart {
    fn from(chart: BarChart) -> Self {
        Self::Bars(chart)
    }
}

impl From<Screen> for Chart {
    fn from(screen: Screen) -> Self {
        Self::Screen(screen)
    }
}

#[cfg(test)]
mod tests;
