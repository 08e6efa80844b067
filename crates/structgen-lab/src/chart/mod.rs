//! Charts of lines and bars, and terminal screens, as SVG, or as PNG with the feature `png`.
//!
//! A chart is turned into a [`Scene`] of rectangles, lines and texts, which either writer draws. All texts are
//! horizontal and in a monospaced font, so their widths are known and they never overlap. An SVG follows the viewer's
//! light or dark scheme unless a [`Theme`] is set.

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

/// Why a chart could not be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChartError {
    /// The image would exceed the maximum size.
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
    /// A terminal screen.
    Screen(Screen),
}

impl Chart {
    /// Returns the chart as an SVG document.
    #[must_use]
    pub fn svg(&self, theme: Theme) -> String {
        svg::write(&self.scene(), theme)
    }

    /// Returns the chart as a PNG file, at twice the size for high-resolution screens. [`Theme::Auto`] is light.
    ///
    /// # Errors
    /// [`ChartError`].
    #[cfg(feature = "png")]
    pub fn png(&self, theme: Theme) -> Result<Vec<u8>, ChartError> {
        png::write(&self.scene(), theme)
    }

    /// Returns the scene to draw.
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
