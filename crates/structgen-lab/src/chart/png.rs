//! Draws a scene as a PNG file.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use tiny_skia::{
    Color, LineCap, LineJoin, Paint, PathBuilder, Pixmap, PremultipliedColorU8, Rect, Stroke,
    StrokeDash, Transform,
};

use super::ChartError;
use super::scene::{Anchor, Item, Scene};
use super::theme::{Ink, Theme};

/// Pixels of the file per pixel of the scene.
const SCALE: f64 = 2.0;

pub(super) fn write(scene: &Scene, theme: Theme) -> Result<Vec<u8>, ChartError> {
    let is_dark = theme == Theme::Dark;
    let (width, height) = ((scene.width * SCALE) as u32, (scene.height * SCALE) as u32);
    let mut canvas = Pixmap::new(width, height).ok_or(ChartError::Size { width, height })?;
    for item in &scene.items {
        draw(&mut canvas, item, is_dark);
    }
    canvas
        .encode_png()
        .map_err(|error| ChartError::Encode(error.to_string()))
}

fn draw(canvas: &mut Pixmap, item: &Item, is_dark: bool) {
    let scaled = |number: f64| (number * SCALE) as f32;
    match item {
        Item::Rect {
            x,
            y,
            width,
            height,
            ink,
        } => {
            let rect = Rect::from_xywh(scaled(*x), scaled(*y), scaled(*width), scaled(*height));
            if let Some(rect) = rect {
                canvas.fill_rect(rect, &paint(*ink, is_dark), Transform::identity(), None);
            }
        }
        Item::Line {
            points,
            width,
            ink,
            is_dashed,
        } => {
            let mut path = PathBuilder::new();
            for (at, &(x, y)) in points.iter().enumerate() {
                match at {
                    0 => path.move_to(scaled(x), scaled(y)),
                    _ => path.line_to(scaled(x), scaled(y)),
                }
            }
            let dash = vec![scaled(6.0), scaled(4.0)];
            let stroke = Stroke {
                width: scaled(*width),
                line_cap: LineCap::Butt,
                line_join: LineJoin::Round,
                dash: StrokeDash::new(dash, 0.0).filter(|_| *is_dashed),
                ..Stroke::default()
            };
            if let Some(path) = path.finish() {
                let paint = paint(*ink, is_dark);
                canvas.stroke_path(&path, &paint, &stroke, Transform::identity(), None);
            }
        }
        Item::Text {
            x,
            y,
            anchor,
            text,
            is_title,
            ink,
            advance,
        } => write_text(
            canvas,
            (x * SCALE, y * SCALE),
            *anchor,
            text,
            *is_title,
            *advance,
            rgb(*ink, is_dark),
        ),
    }
}

fn write_text(
    canvas: &mut Pixmap,
    (x, y): (f64, f64),
    anchor: Anchor,
    text: &str,
    is_title: bool,
    advance: Option<f64>,
    colour: [u8; 3],
) {
    let (weight, size) = match is_title {
        true => (FontWeight::Bold, RasterHeight::Size32),
        false => (FontWeight::Regular, RasterHeight::Size24),
    };
    let advance = advance.map_or(get_raster_width(weight, size) as f64, |it| it * SCALE);
    let width = text.chars().count() as f64 * advance;
    let left = match anchor {
        Anchor::Start => x,
        Anchor::Middle => x - width / 2.0,
        Anchor::End => x - width,
    };
    let top = y - size.val() as f64 / 2.0;
    for (at, character) in text.chars().enumerate() {
        let Some(glyph) = glyph(character, weight, size) else {
            continue;
        };
        for (row, line) in glyph.raster().iter().enumerate() {
            for (column, &coverage) in line.iter().enumerate() {
                let px = left + at as f64 * advance + column as f64;
                blend(canvas, px, top + row as f64, colour, coverage);
            }
        }
    }
}

/// Draws a character, or a similar one that the font has.
fn glyph(
    character: char,
    weight: FontWeight,
    size: RasterHeight,
) -> Option<noto_sans_mono_bitmap::RasterizedChar> {
    let similar = match character {
        '−' | '–' => '-',
        '…' => '.',
        '∞' => '8',
        '▸' | '→' => '>',
        '←' => '<',
        '↑' => '^',
        '↓' => 'v',
        '●' => 'O',
        other => other,
    };
    get_raster(character, weight, size)
        .or_else(|| get_raster(similar, weight, size))
        .or_else(|| get_raster('?', weight, size))
}

fn blend(canvas: &mut Pixmap, x: f64, y: f64, colour: [u8; 3], coverage: u8) {
    if coverage == 0 || x < 0.0 || y < 0.0 || x >= f64::from(canvas.width()) {
        return;
    }
    let at = y as usize * canvas.width() as usize + x as usize;
    if let Some(pixel) = canvas.pixels_mut().get_mut(at) {
        let mix = |over: u8, under: u8| {
            let (over, under) = (u32::from(over), u32::from(under));
            let (share, rest) = (u32::from(coverage), 255 - u32::from(coverage));
            ((over * share + under * rest) / 255) as u8
        };
        let [red, green, blue] = colour;
        let (red, green, blue) = (
            mix(red, pixel.red()),
            mix(green, pixel.green()),
            mix(blue, pixel.blue()),
        );
        // The background is opaque, and so is everything blended with it.
        if let Some(mixed) = PremultipliedColorU8::from_rgba(red, green, blue, 255) {
            *pixel = mixed;
        }
    }
}

fn rgb(ink: Ink, is_dark: bool) -> [u8; 3] {
    let [_, red, green, blue] = ink.rgb(is_dark).to_be_bytes();
    [red, green, blue]
}

fn paint(ink: Ink, is_dark: bool) -> Paint<'static> {
    let [red, green, blue] = rgb(ink, is_dark);
    let mut paint = Paint {
        anti_alias: true,
        ..Paint::default()
    };
    paint.set_color(Color::from_rgba8(red, green, blue, 255));
    paint
}
