//! Writes a scene as an SVG document.

use std::fmt::Write;

use super::scene::{Anchor, Item, Scene};
use super::theme::{Ink, Theme};

pub(super) fn write(scene: &Scene, theme: Theme) -> String {
    let (width, height) = (scene.width, scene.height);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height:.0}\" width=\"{width}\" height=\"{height:.0}\" role=\"img\">\n<title>{}</title>\n<style>\ntext {{ font: 12px ui-monospace, \"DejaVu Sans Mono\", Menlo, Consolas, monospace; white-space: pre; }}\ntext.title {{ font-size: 14px; font-weight: 600; }}\n",
        escaped(&scene.title)
    );
    svg.push_str(&colours(theme == Theme::Dark));
    if theme == Theme::Auto {
        let dark = colours(true);
        let _ = writeln!(svg, "@media (prefers-color-scheme: dark) {{\n{dark}}}");
    }
    svg.push_str("</style>\n");
    for item in &scene.items {
        // Writing to a string never fails.
        let _ = write_item(&mut svg, item);
    }
    svg.push_str("</svg>\n");
    svg
}

fn write_item(svg: &mut String, item: &Item) -> std::fmt::Result {
    match item {
        Item::Rect {
            x,
            y,
            width,
            height,
            ink,
        } => writeln!(
            svg,
            "<rect class=\"{}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>",
            ink.class()
        ),
        Item::Line {
            points,
            width,
            ink,
            is_dashed,
        } => {
            write!(
                svg,
                "<polyline class=\"l-{}\" stroke-width=\"{width}\"",
                ink.class()
            )?;
            if *is_dashed {
                svg.push_str(" stroke-dasharray=\"6 4\"");
            }
            svg.push_str(" points=\"");
            for (x, y) in points {
                write!(svg, "{x:.1},{y:.1} ")?;
            }
            svg.push_str("\"/>\n");
            Ok(())
        }
        Item::Text {
            x,
            y,
            anchor,
            text,
            is_title,
            ink,
            advance,
        } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let title = if *is_title { "title " } else { "" };
            let length = advance.map_or(String::new(), |advance| {
                format!(
                    " textLength=\"{:.1}\"",
                    text.chars().count() as f64 * advance
                )
            });
            writeln!(
                svg,
                "<text class=\"{title}{}\" x=\"{x:.1}\" y=\"{y:.1}\" dy=\".34em\" text-anchor=\"{anchor}\"{length}>{}</text>",
                ink.class(),
                escaped(text)
            )
        }
    }
}

/// Writes CSS rules for each colour: one for fills, and one for strokes.
fn colours(is_dark: bool) -> String {
    let rule = |ink: Ink| {
        let (class, rgb) = (ink.class(), ink.rgb(is_dark));
        format!(
            ".{class} {{ fill: #{rgb:06x}; }} .l-{class} {{ stroke: #{rgb:06x}; fill: none; }}\n"
        )
    };
    Ink::all().map(rule).collect()
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // Control characters are not allowed in XML.
            c if c.is_control() => safe.push('\u{FFFD}'),
            c => safe.push(c),
        }
    }
    safe
}
