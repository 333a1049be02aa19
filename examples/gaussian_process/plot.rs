//! A picture of observations and predictions, as SVG.

use std::fmt::{Display, Write};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
const MARGIN: f64 = 48.0;
/// The height above the plot, for title and legend.
const TOP: f64 = 64.0;

/// The predictions along an axis: the mean, and half of the width of the interval around it.
pub struct Band<'a> {
    pub x: &'a [f64],
    pub mean: &'a [f64],
    pub half: &'a [f64],
}

/// The smallest and the largest of some numbers.
fn range(numbers: impl Iterator<Item = f64>) -> [f64; 2] {
    numbers.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
}

/// A position between two ends for a number in a range.
fn between([start, end]: [f64; 2], [low, high]: [f64; 2], x: f64) -> f64 {
    start + (end - start) * (x - low) / (high - low).max(f64::MIN_POSITIVE)
}

/// The picture: observations as points, the mean as a line, the interval as an area.
pub fn svg(title: &str, observations: [&[f64]; 2], band: &Band) -> String {
    let bounds = band.mean.iter().zip(band.half).flat_map(|(mean, half)| [mean - half, mean + half]);
    let across = range(observations[0].iter().chain(band.x).copied());
    let along = range(observations[1].iter().copied().chain(bounds));
    let x = |at: f64| between([MARGIN, WIDTH - MARGIN], across, at);
    let y = |at: f64| between([HEIGHT - MARGIN, TOP], along, at);
    let point = |at: usize, shift: f64| format!("{:.1} {:.1}", x(band.x[at]), y(band.mean[at] + shift * band.half[at]));
    let path = |points: Vec<String>| points.join("L");
    let upper = (0..band.x.len()).map(|at| point(at, 1.0));
    let area = path(upper.chain((0..band.x.len()).rev().map(|at| point(at, -1.0))).collect());
    let line = path((0..band.x.len()).map(|at| point(at, 0.0)).collect());

    let mut out = String::new();
    let mut put = |text: &dyn Display| writeln!(out, "{text}").expect("writing to a string");
    put(&format_args!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#24292f">"##
    ));
    put(&format_args!(r##"<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>"##));
    put(&format_args!(r#"<text x="{MARGIN}" y="28" font-size="17" font-weight="bold">{title}</text>"#));
    put(&r#"<text x="48" y="48">points: observations; line: mean; area: interval of 95 %</text>"#);
    for tick in ticks(along) {
        let (right, height) = (WIDTH - MARGIN, y(tick));
        put(&format_args!(r##"<path d="M{MARGIN} {height:.1}H{right}" stroke="#e4e7eb"/>"##));
        put(&format_args!(r#"<text x="{}" y="{:.1}" text-anchor="end">{tick}</text>"#, MARGIN - 8.0, height + 4.0));
    }
    for tick in ticks(across) {
        put(&format_args!(r#"<text x="{:.1}" y="{}" text-anchor="middle">{tick}</text>"#, x(tick), HEIGHT - 22.0));
    }
    put(&format_args!(r##"<path d="M{area}Z" fill="#54aeff" fill-opacity="0.3"/>"##));
    for (&across, &along) in observations[0].iter().zip(observations[1]) {
        let (across, along) = (x(across), y(along));
        put(&format_args!(r##"<circle cx="{across:.1}" cy="{along:.1}" r="1.6" fill="#57606a" fill-opacity="0.6"/>"##));
    }
    put(&format_args!(r##"<path d="M{line}" fill="none" stroke="#0969da" stroke-width="2"/>"##));
    put(&"</svg>");
    out
}

/// The whole numbers of a range, or every second, fifth, tenth and so on, so that they are few.
fn ticks([low, high]: [f64; 2]) -> Vec<f64> {
    if !(low.is_finite() && high.is_finite()) {
        return Vec::new();
    }
    let steps = (0..).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
    let step = steps.into_iter().find(|step| (high - low) / step <= 10.0).unwrap_or(f64::INFINITY);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|at| at as f64 * step).collect()
}
