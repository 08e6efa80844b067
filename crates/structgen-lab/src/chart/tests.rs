use super::scene::{Item, text_width};
use super::*;

fn lines() -> Chart {
    let points = |f: fn(f64) -> f64| (1..=20).map(|i| (f64::from(i), f(f64::from(i)))).collect();
    LineChart {
        title: "Growth".to_owned(),
        x: Axis::linear("tokens"),
        y: Axis::log("time (ms)"),
        lines: vec![
            Line::new("with a cache", points(|x| x)),
            Line::new("without", points(|x| x * x)),
            Line::reference("x + 1", points(|x| x + 1.0)),
        ],
    }
    .into()
}

fn bars() -> Chart {
    BarChart {
        title: "Divergence <&> \u{1}".to_owned(),
        x: Axis::linear("KL (nats)"),
        series: vec!["draws".to_owned(), "exact".to_owned()],
        groups: vec![
            BarGroup::new("greedy", [2.013, 2.0]),
            BarGroup::new(
                "a name that is longer than a label may be",
                [0.1, f64::INFINITY],
            ),
            BarGroup::new("nothing", [f64::NAN, 0.0]),
        ],
    }
    .into()
}

/// Returns the rectangles that texts occupy.
fn boxes(scene: &Scene) -> Vec<(f64, f64, f64, f64, String)> {
    let boxed = |item: &Item| {
        let Item::Text {
            x,
            y,
            anchor,
            text,
            is_title,
            ..
        } = item
        else {
            return None;
        };
        let width = text_width(text) * if *is_title { 1.2 } else { 1.0 };
        let left = match anchor {
            scene::Anchor::Start => *x,
            scene::Anchor::Middle => x - width / 2.0,
            scene::Anchor::End => x - width,
        };
        Some((left, y - 6.0, left + width, y + 6.0, text.clone()))
    };
    scene.items.iter().filter_map(boxed).collect()
}

#[test]
fn no_label_lies_on_another_or_outside() {
    for chart in [lines(), bars()] {
        let scene = chart.scene();
        let boxes = boxes(&scene);
        for (i, a) in boxes.iter().enumerate() {
            assert!(
                a.0 >= 0.0 && a.2 <= scene.width && a.3 <= scene.height,
                "{a:?}"
            );
            for b in &boxes[..i] {
                let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
                assert!(apart, "{a:?} lies on {b:?}");
            }
        }
    }
}

#[test]
fn an_svg_is_escaped_and_follows_the_scheme() {
    let svg = bars().svg(Theme::Auto);
    assert!(svg.contains("<title>Divergence &lt;&amp;&gt; \u{FFFD}</title>"));
    assert!(svg.contains("prefers-color-scheme: dark"));
    assert!(!bars().svg(Theme::Light).contains("prefers-color-scheme"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn a_chart_of_nothing_is_drawn() {
    let chart: Chart = LineChart {
        title: String::new(),
        x: Axis::linear(""),
        y: Axis::log(""),
        lines: vec![Line::new("", vec![(f64::NAN, 0.0)])],
    }
    .into();
    assert!(chart.svg(Theme::Dark).ends_with("</svg>\n"));
}

#[cfg(feature = "png")]
#[test]
fn a_png_has_the_size_of_the_scene_twice_over() {
    for theme in [Theme::Light, Theme::Dark] {
        let png = lines().png(theme).unwrap();
        assert_eq!(&png[1..4], b"PNG");
        let width = u32::from_be_bytes([png[16], png[17], png[18], png[19]]);
        assert_eq!(width, 1440);
    }
}
