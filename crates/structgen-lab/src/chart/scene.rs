pub(super) use super::theme::Ink;

/// The width of a character in text of the usual size, in pixels.
pub(super) const CHARACTER: f64 = 7.3;

/// The height of a line of text, in pixels.
pub(super) const TEXT_LINE: f64 = 18.0;

/// A drawing, in pixels from the upper left corner.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
    /// The items, from back to front.
    pub items: Vec<Item>,
    /// A description, for accessibility.
    pub title: String,
}

/// A part of a scene.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A filled rectangle.
    Rect {
        /// Its left edge.
        x: f64,
        /// Its upper edge.
        y: f64,
        /// Its width.
        width: f64,
        /// Its height.
        height: f64,
        /// Its colour.
        ink: Ink,
    },
    /// A line through points.
    Line {
        /// The points.
        points: Vec<(f64, f64)>,
        /// The width of the stroke.
        width: f64,
        /// The colour.
        ink: Ink,
        /// Whether it is dashed.
        is_dashed: bool,
    },
    /// A line of text.
    Text {
        /// Where it is anchored.
        x: f64,
        /// The vertical centre.
        y: f64,
        /// Which point of the text is at `x`.
        anchor: Anchor,
        /// The text.
        text: String,
        /// Whether it is a title.
        is_title: bool,
        /// The colour.
        ink: Ink,
        /// The distance between characters in pixels, for text on a grid; `None` for that of the font.
        advance: Option<f64>,
    },
}

/// Which point of a text is positioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its start.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

impl Scene {
    pub(super) fn new(width: f64, height: f64, title: &str) -> Self {
        let mut scene = Self {
            width,
            height,
            items: Vec::new(),
            title: title.to_owned(),
        };
        scene.rect(0.0, 0.0, width, height, Ink::Ground);
        scene.items.push(Item::Text {
            x: 16.0,
            y: 20.0,
            anchor: Anchor::Start,
            text: title.to_owned(),
            is_title: true,
            ink: Ink::Text,
            advance: None,
        });
        scene
    }

    /// Extends the background to the height of the scene.
    pub(super) fn sized(mut self) -> Self {
        if let Some(Item::Rect { height, .. }) = self.items.first_mut() {
            *height = self.height;
        }
        self
    }

    pub(super) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, ink: Ink) {
        self.items.push(Item::Rect {
            x,
            y,
            width,
            height,
            ink,
        });
    }

    pub(super) fn line(&mut self, points: Vec<(f64, f64)>, width: f64, ink: Ink) {
        let is_dashed = ink == Ink::Reference;
        self.items.push(Item::Line {
            points,
            width,
            ink,
            is_dashed,
        });
    }

    pub(super) fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str, ink: Ink) {
        self.items.push(Item::Text {
            x,
            y,
            anchor,
            text: text.to_owned(),
            is_title: false,
            ink,
            advance: None,
        });
    }

    /// Adds a text whose characters are [`CHARACTER`] apart, whatever the font.
    pub(super) fn grid_text(&mut self, x: f64, y: f64, text: &str, ink: Ink) {
        self.items.push(Item::Text {
            x,
            y,
            anchor: Anchor::Start,
            text: text.to_owned(),
            is_title: false,
            ink,
            advance: Some(CHARACTER),
        });
    }

    /// Draws a legend in as many lines as necessary, from `top` on; returns where it ends.
    pub(super) fn legend(&mut self, top: f64, names: &[(String, Ink)]) -> f64 {
        const SWATCH: f64 = 14.0;
        const GAP: f64 = 18.0;
        let (mut x, mut y) = (16.0, top);
        for (name, ink) in names {
            let width = SWATCH + 6.0 + text_width(name);
            if x > 16.0 && x + width > self.width - 16.0 {
                (x, y) = (16.0, y + TEXT_LINE);
            }
            let middle = y + TEXT_LINE / 2.0;
            self.rect(x, middle - 4.0, SWATCH, 8.0, *ink);
            self.text(x + SWATCH + 6.0, middle, Anchor::Start, name, Ink::Text);
            x += width + GAP;
        }
        y + TEXT_LINE
    }
}

/// Returns the width of text of the usual size, in pixels.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}
