//! Line charts as SVG, drawn by hand.

use std::fmt::Write;

const WIDTH: f64 = 940.0;
const HEIGHT: f64 = 400.0;
/// Around the plotting area of each panel: room for the axis labels, the title and the legend.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = 52.0;

const INK: &str = "#24292f";
const PALE_INK: &str = "#6e7781";
const GRID: &str = "#e4e7eb";

/// One chart of a picture.
pub struct Panel {
    /// The title of the vertical axis.
    pub title: &'static str,
    /// Whether the vertical axis is logarithmic.
    pub logarithmic: bool,
    pub lines: Vec<Line>,
}

/// One value an epoch.
pub struct Line {
    /// The text in the legend; lines without one are drawn faint, behind the others.
    pub name: Option<String>,
    pub color: &'static str,
    pub values: Vec<f64>,
}

/// A picture of panels side by side, over epochs that count from 1.
pub fn svg(title: &str, panels: &[Panel]) -> String {
    let mut out = String::new();
    draw(&mut out, title, panels).expect("writing to a string");
    out
}

fn draw(out: &mut String, title: &str, panels: &[Panel]) -> std::fmt::Result {
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{INK}">"#
    )?;
    writeln!(out, r##"<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>"##)?;
    writeln!(out, r#"<text x="{LEFT}" y="30" font-size="17" font-weight="bold">{}</text>"#, escape(title))?;
    let width = WIDTH / panels.len() as f64;
    for (at, panel) in panels.iter().enumerate() {
        Area::new(panel, at as f64 * width, width).draw(out, panel)?;
    }
    writeln!(out, "</svg>")
}

/// The plotting area of a panel: which values its edges stand for.
struct Area {
    left: f64,
    right: f64,
    epochs: usize,
    axis: Axis,
}

impl Area {
    fn new(panel: &Panel, left: f64, width: f64) -> Area {
        let epochs = panel.lines.iter().map(|line| line.values.len()).max().unwrap_or(0).max(1);
        let values = panel.lines.iter().flat_map(|line| line.values.iter().copied());
        Area { left: left + LEFT, right: left + width - RIGHT, epochs, axis: Axis::around(values, panel.logarithmic) }
    }

    fn x(&self, epoch: usize) -> f64 {
        let share = if self.epochs > 1 { (epoch - 1) as f64 / (self.epochs - 1) as f64 } else { 0.5 };
        self.left + share * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        let bottom = HEIGHT - BOTTOM;
        bottom - self.axis.share(value) * (bottom - TOP)
    }

    fn draw(&self, out: &mut String, panel: &Panel) -> std::fmt::Result {
        let (left, right, bottom) = (self.left, self.right, HEIGHT - BOTTOM);
        writeln!(out, r#"<text x="{left:.1}" y="58" font-weight="bold">{}</text>"#, escape(panel.title))?;
        for tick in self.axis.ticks() {
            let y = self.y(tick);
            writeln!(out, r#"<path d="M{left:.1} {y:.1}H{right:.1}" stroke="{GRID}"/>"#)?;
            let (x, below, label) = (left - 8.0, y + 4.0, label(tick));
            writeln!(out, r#"<text x="{x:.1}" y="{below:.1}" text-anchor="end" fill="{PALE_INK}">{label}</text>"#)?;
        }
        writeln!(out, r#"<path d="M{left:.1} {bottom}H{right:.1}" stroke="{PALE_INK}"/>"#)?;
        for epoch in epoch_ticks(self.epochs) {
            let (x, end, below) = (self.x(epoch), bottom + 5.0, bottom + 19.0);
            writeln!(out, r#"<path d="M{x:.1} {bottom}V{end}" stroke="{PALE_INK}"/>"#)?;
            writeln!(out, r#"<text x="{x:.1}" y="{below}" text-anchor="middle" fill="{PALE_INK}">{epoch}</text>"#)?;
        }
        let (middle, below) = ((left + right) / 2.0, bottom + 40.0);
        writeln!(out, r#"<text x="{middle:.1}" y="{below}" text-anchor="middle">epoch</text>"#)?;
        let (named, faint): (Vec<_>, Vec<_>) = panel.lines.iter().partition(|line| line.name.is_some());
        for line in faint.into_iter().chain(named) {
            self.draw_line(out, line)?;
        }
        self.draw_legend(out, panel)
    }

    fn draw_line(&self, out: &mut String, line: &Line) -> std::fmt::Result {
        let (thickness, opacity) = if line.name.is_some() { (2.2, 1.0) } else { (1.0, 0.3) };
        let mut path = String::new();
        let mut last = None;
        for (at, &value) in line.values.iter().enumerate() {
            // Values that can't be drawn, such as those after a divergence, leave a gap.
            let (pen, point) = if self.axis.admits(value) {
                let point = (self.x(at + 1), self.y(value));
                (if last.is_some() { 'L' } else { 'M' }, Some(point))
            } else {
                (' ', None)
            };
            if let Some((x, y)) = point {
                write!(path, "{pen}{x:.1} {y:.1}")?;
            }
            last = point;
        }
        let color = line.color;
        writeln!(
            out,
            r#"<path d="{path}" fill="none" stroke="{color}" stroke-width="{thickness}" stroke-opacity="{opacity}" stroke-linejoin="round" stroke-linecap="round"/>"#
        )?;
        if let (Some((x, y)), true) = (last, line.name.is_some()) {
            writeln!(out, r##"<circle cx="{x:.1}" cy="{y:.1}" r="3.6" fill="{color}" stroke="#ffffff"/>"##)?;
        }
        Ok(())
    }

    /// A row of samples and names between title and plot, each with the value it ends at.
    fn draw_legend(&self, out: &mut String, panel: &Panel) -> std::fmt::Result {
        let mut x = self.left;
        for line in &panel.lines {
            let Some(name) = &line.name else { continue };
            let text = match line.values.last() {
                Some(value) => format!("{name}: {value:.4}"),
                None => name.clone(),
            };
            let (end, after) = (x + 18.0, x + 24.0);
            let color = line.color;
            writeln!(
                out,
                r#"<path d="M{x:.1} 73H{end:.1}" stroke="{color}" stroke-width="2.2" stroke-linecap="round"/>"#
            )?;
            writeln!(out, r#"<text x="{after:.1}" y="77">{}</text>"#, escape(&text))?;
            // Fonts differ; this is wide enough for those named above.
            x = after + 6.6 * text.chars().count() as f64 + 18.0;
        }
        Ok(())
    }
}

/// The range of the vertical axis, in logarithms where it is logarithmic.
struct Axis {
    logarithmic: bool,
    low: f64,
    high: f64,
}

impl Axis {
    fn around(values: impl Iterator<Item = f64>, logarithmic: bool) -> Axis {
        let mut axis = Axis { logarithmic, low: f64::INFINITY, high: f64::NEG_INFINITY };
        for value in values {
            if axis.admits(value) {
                axis.low = axis.low.min(axis.position(value));
                axis.high = axis.high.max(axis.position(value));
            }
        }
        if axis.low > axis.high {
            (axis.low, axis.high) = (0.0, 1.0);
        }
        // A margin, which also keeps a range of one value from being empty.
        let margin = (0.05 * (axis.high - axis.low)).max(1e-3 * axis.high.abs()).max(1e-9);
        Axis { logarithmic, low: axis.low - margin, high: axis.high + margin }
    }

    fn admits(&self, value: f64) -> bool {
        value.is_finite() && (!self.logarithmic || value > 0.0)
    }

    fn position(&self, value: f64) -> f64 {
        if self.logarithmic { value.log10() } else { value }
    }

    /// Where a value lies between the lower (0) and the upper (1) end.
    fn share(&self, value: f64) -> f64 {
        (self.position(value) - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> Vec<f64> {
        if !self.logarithmic {
            let step = round_step((self.high - self.low) / 6.0);
            let first = (self.low / step).ceil() as i64;
            let last = (self.high / step).floor() as i64;
            return (first..=last).map(|at| at as f64 * step).collect();
        }
        let decades = self.low.floor() as i32..=self.high.floor() as i32;
        let digits: &[f64] = if self.high - self.low < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let ticks = decades.flat_map(|decade| digits.iter().map(move |digit| digit * 10f64.powi(decade)));
        ticks.filter(|&tick| (0.0..=1.0).contains(&self.share(tick))).collect()
    }
}

/// The smallest of 1, 2, 5, 10, .. times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= step * (1.0 - 1e-9));
    digit.unwrap_or(10.0) * power
}

/// The first epoch, and about six more that are multiples of a round number.
fn epoch_ticks(epochs: usize) -> Vec<usize> {
    let step = round_step((epochs as f64 / 6.0).max(1.0)) as usize;
    let multiples = (1..=epochs / step).map(|at| at * step).filter(|&epoch| epoch > 1);
    std::iter::once(1).chain(multiples).collect()
}

/// A tick's text: as short as it tells them apart.
fn label(tick: f64) -> String {
    if tick != 0.0 && !(1e-4..1e6).contains(&tick.abs()) {
        return format!("{tick:.0e}");
    }
    let text = format!("{tick:.5}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64], logarithmic: bool) -> Axis {
        Axis::around(values.iter().copied(), logarithmic)
    }

    #[test]
    fn ticks_are_round_and_few() {
        let labels = |axis: Axis| axis.ticks().into_iter().map(label).collect::<Vec<_>>();
        assert_eq!(labels(axis(&[0.91, 0.98], false)), ["0.92", "0.94", "0.96", "0.98"]);
        assert_eq!(labels(axis(&[0.004, 1.2], true)), ["0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"]);
        assert_eq!(epoch_ticks(30), [1, 5, 10, 15, 20, 25, 30]);
        assert_eq!(epoch_ticks(1), [1]);
        assert_eq!(epoch_ticks(3), [1, 2, 3]);
    }

    #[test]
    fn any_values_can_be_drawn() {
        let odd = [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-300, 1e300];
        for values in [vec![], vec![0.0], vec![0.5; 3], odd.to_vec(), vec![f64::NAN; 2]] {
            for logarithmic in [false, true] {
                assert!(axis(&values, logarithmic).ticks().len() < 1000);
                let line = Line { name: Some("a < b".into()), color: "#000000", values: values.clone() };
                let picture = svg("&", &[Panel { title: "t", logarithmic, lines: vec![line] }]);
                let drawn = picture.split(" d=\"").skip(1).map(|rest| &rest[..rest.find('"').unwrap()]);
                assert!(drawn.into_iter().all(|path| !path.contains("NaN") && !path.contains("inf")), "{picture}");
                assert!(picture.contains("a &lt; b") && picture.contains(">&amp;<"));
            }
        }
    }
}
