//! Shapes as SVG: egui's painting of a part of the window, as rectangles, paths, circles and texts that
//! stay texts. Meshes are polygons, with at least one colour per triangle.
//!
//! Features that no pane uses are left out: shadows, textures, underlines. Names come from traces, so
//! characters that XML does not allow are replaced. A file has at most [`MOST_BYTES`]; its length
//! depends on what was on the screen, not on the trace.

mod attributes;
mod runs;

use std::fmt;
use std::io::{self, Write};

use eframe::egui::epaint::{
    CircleShape, ClippedShape, ColorMode, CornerRadius, CubicBezierShape, EllipseShape, Mesh, PathShape, PathStroke,
    QuadraticBezierShape, RectShape, Shape, Stroke, StrokeKind, TextShape, Vertex,
};
use eframe::egui::{Color32, FontFamily, Pos2, Rect, pos2};

use crate::tables::KeyedMap;
use attributes::{At, Center, Escaped, Fill, Line, Num, Place, Turn, trace};
use runs::runs;

/// Maximum size of a file in bytes.
const MOST_BYTES: usize = 64 << 20;

/// A part of the window, as it was painted.
#[derive(Debug)]
pub struct Drawing {
    pub shapes: Vec<ClippedShape>,
    /// The area of the part, in points.
    pub rect: Rect,
    /// The background colour.
    pub ground: Color32,
}

impl Drawing {
    /// Writes the whole drawing.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = SvgWriter { out, left: MOST_BYTES, clips: KeyedMap::default(), clip: None };
        let (min, size) = (self.rect.min, self.rect.size());
        writer.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"{x} {y} {w} {h}\" \
             xml:space=\"preserve\" style=\"white-space:pre\">\n",
            x = Num(min.x),
            y = Num(min.y),
            w = Num(size.x),
            h = Num(size.y)
        ))?;
        writer.rect(&RectShape::filled(self.rect, 0, self.ground))?;
        for ClippedShape { clip_rect, shape, .. } in &self.shapes {
            let clip = clip_rect.intersect(self.rect);
            if clip.is_positive() && *shape != Shape::Noop {
                writer.clip_to((clip != self.rect).then_some(clip))?;
                writer.shape(shape)?;
            }
        }
        writer.clip_to(None)?;
        writer.put(format_args!("</svg>\n"))
    }
}

/// A file that is being written.
struct SvgWriter<'a> {
    out: &'a mut dyn Write,
    /// Bytes that it may still take.
    left: usize,
    /// Numbers of the clip paths, by the bits of their corners.
    clips: KeyedMap<[u32; 4], usize>,
    /// The clip rectangle of the open group.
    clip: Option<Rect>,
}

impl SvgWriter<'_> {
    fn put(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        let text = text.to_string();
        let too_much = || io::Error::other(format!("it would be larger than {} MB", MOST_BYTES >> 20));
        self.left = self.left.checked_sub(text.len()).ok_or_else(too_much)?;
        self.out.write_all(text.as_bytes())
    }

    /// Clips everything that follows to this rectangle.
    fn clip_to(&mut self, clip: Option<Rect>) -> io::Result<()> {
        if clip == self.clip {
            return Ok(());
        }
        if self.clip.take().is_some() {
            self.put(format_args!("</g>\n"))?;
        }
        self.clip = clip;
        let Some(rect) = clip else { return Ok(()) };
        let next = self.clips.len();
        let number = *self.clips.entry([rect.min.x, rect.min.y, rect.max.x, rect.max.y].map(f32::to_bits)).or_insert(next);
        if number == next {
            self.put(format_args!("<clipPath id=\"c{number}\"><rect{}/></clipPath>\n", Place(rect)))?;
        }
        self.put(format_args!("<g clip-path=\"url(#c{number})\">\n"))
    }

    fn shape(&mut self, shape: &Shape) -> io::Result<()> {
        match shape {
            Shape::Noop | Shape::Callback(_) => Ok(()),
            Shape::Vec(shapes) => shapes.iter().try_for_each(|shape| self.shape(shape)),
            Shape::Circle(circle) => self.circle(circle),
            Shape::Ellipse(ellipse) => self.ellipse(ellipse),
            Shape::LineSegment { points, stroke } => self.segment(*points, *stroke),
            Shape::Path(path) => self.path(path),
            Shape::Band(band) => {
                let above = band.points.iter().map(|point| pos2(point.x, point.y.min));
                let below = band.points.iter().rev().map(|point| pos2(point.x, point.y.max));
                let outline = PathShape::convex_polygon(above.chain(below).collect(), band.fill, band.stroke);
                self.path(&outline)
            }
            Shape::Rect(rect) => self.rect(rect),
            Shape::Text(text) => self.text(text),
            Shape::Mesh(mesh) => self.mesh(mesh),
            Shape::QuadraticBezier(QuadraticBezierShape { points: [a, b, c], closed, fill, stroke }) => {
                let curve = format!("M{} Q{} {}", At(*a), At(*b), At(*c));
                self.curve(&curve, *closed, *fill, stroke)
            }
            Shape::CubicBezier(CubicBezierShape { points: [a, b, c, d], closed, fill, stroke }) => {
                let curve = format!("M{} C{} {} {}", At(*a), At(*b), At(*c), At(*d));
                self.curve(&curve, *closed, *fill, stroke)
            }
        }
    }

    fn circle(&mut self, &CircleShape { center, radius, fill, stroke }: &CircleShape) -> io::Result<()> {
        let (center, radius) = (Center(center), Num(radius));
        self.put(format_args!("<circle{center} r=\"{radius}\"{}{}/>\n", Fill(fill), Line(stroke)))
    }

    fn ellipse(&mut self, &EllipseShape { center, radius, fill, stroke, angle }: &EllipseShape) -> io::Result<()> {
        let (rx, ry) = (Num(radius.x), Num(radius.y));
        let (fill, line, turn) = (Fill(fill), Line(stroke), Turn(angle, center));
        self.put(format_args!("<ellipse{} rx=\"{rx}\" ry=\"{ry}\"{fill}{line}{turn}/>\n", Center(center)))
    }

    /// A line along an axis is aligned with whole pixels, as in the window.
    fn segment(&mut self, [mut a, mut b]: [Pos2; 2], stroke: Stroke) -> io::Result<()> {
        let middle = |value: f32| if stroke.width.round() as i32 % 2 == 0 { value.round() } else { value.floor() + 0.5 };
        if a.x == b.x {
            (a.x, b.x) = (middle(a.x), middle(b.x));
        } else if a.y == b.y {
            (a.y, b.y) = (middle(a.y), middle(b.y));
        }
        self.put(format_args!("<path d=\"M{}L{}\"{}{}/>\n", At(a), At(b), Fill(Color32::TRANSPARENT), Line(stroke)))
    }

    fn path(&mut self, path: &PathShape) -> io::Result<()> {
        if path.points.len() < 2 {
            return Ok(());
        }
        let mut outline = String::new();
        trace(&mut outline, &path.points);
        self.curve(&outline, path.closed, path.fill, &path.stroke)
    }

    fn curve(&mut self, outline: &str, is_closed: bool, fill: Color32, stroke: &PathStroke) -> io::Result<()> {
        let line = match stroke.color {
            ColorMode::Solid(color) => Stroke::new(stroke.width, color),
            ColorMode::UV(_) => Stroke::NONE, // its colour varies by pixel
        };
        let end = if is_closed { "Z" } else { "" };
        let fill = if is_closed { fill } else { Color32::TRANSPARENT };
        self.put(format_args!("<path d=\"{outline}{end}\"{}{}/>\n", Fill(fill), Line(line)))
    }

    fn rect(&mut self, shape: &RectShape) -> io::Result<()> {
        if shape.blur_width > 0.0 || shape.brush.is_some() {
            return Ok(());
        }
        let edges = |rect: Rect| Rect::from_min_max(rect.min.round(), rect.max.round());
        let rect = if shape.round_to_pixels == Some(false) { shape.rect } else { edges(shape.rect) };
        if shape.fill != Color32::TRANSPARENT {
            self.boxed(rect, shape.corner_radius, Fill(shape.fill), Line(Stroke::NONE), shape.angle)?;
        }
        if shape.stroke.is_empty() {
            return Ok(());
        }
        let half = shape.stroke.width / 2.0;
        let out = match shape.stroke_kind {
            StrokeKind::Inside => -half,
            StrokeKind::Middle => 0.0,
            StrokeKind::Outside => half,
        };
        self.boxed(rect.expand(out), shape.corner_radius, Fill(Color32::TRANSPARENT), Line(shape.stroke), shape.angle)
    }

    fn boxed(&mut self, rect: Rect, corners: CornerRadius, fill: Fill, line: Line, angle: f32) -> io::Result<()> {
        let turn = Turn(angle, rect.center());
        if corners.is_same() {
            let radius = if corners.nw == 0 { String::new() } else { format!(" rx=\"{}\"", corners.nw) };
            return self.put(format_args!("<rect{}{radius}{fill}{line}{turn}/>\n", Place(rect)));
        }
        let most = rect.size().min_elem().max(0.0) / 2.0;
        let [nw, ne, se, sw] = [corners.nw, corners.ne, corners.se, corners.sw].map(|radius| f32::from(radius).min(most));
        let arc = |radius: f32, x: f32, y: f32| format!("A{r} {r} 0 0 1 {}", At(pos2(x, y)), r = Num(radius));
        let (l, t, r, b) = (rect.left(), rect.top(), rect.right(), rect.bottom());
        self.put(format_args!(
            "<path d=\"M{}L{}{}L{}{}L{}{}L{}{}Z\"{fill}{line}{turn}/>\n",
            At(pos2(l + nw, t)),
            At(pos2(r - ne, t)),
            arc(ne, r, t + ne),
            At(pos2(r, b - se)),
            arc(se, r - se, b),
            At(pos2(l + sw, b)),
            arc(sw, l, b - sw),
            At(pos2(l, t + nw)),
            arc(nw, l + nw, t)
        ))
    }

    /// Consecutive triangles of one colour become one shape, so that no seams are visible.
    fn mesh(&mut self, mesh: &Mesh) -> io::Result<()> {
        let (mut outline, mut color) = (String::new(), Color32::TRANSPARENT);
        for corners in mesh.indices.chunks_exact(3) {
            let corner = |i: usize| mesh.vertices.get(corners[i] as usize).copied();
            let (Some(a), Some(b), Some(c)) = (corner(0), corner(1), corner(2)) else { continue };
            let its_color = mean([a, b, c]);
            if its_color != color {
                self.polygon(&std::mem::take(&mut outline), color)?;
                color = its_color;
            }
            // All have the same orientation, so that overlaps are not cut out.
            let turn = (b.pos - a.pos).rot90().dot(c.pos - a.pos);
            trace(&mut outline, &if turn < 0.0 { [a.pos, c.pos, b.pos] } else { [a.pos, b.pos, c.pos] });
            outline.push('Z');
        }
        self.polygon(&outline, color)
    }

    fn polygon(&mut self, outline: &str, color: Color32) -> io::Result<()> {
        if outline.is_empty() || color == Color32::TRANSPARENT {
            return Ok(());
        }
        self.put(format_args!("<path d=\"{outline}\"{}/>\n", Fill(color)))
    }

    fn text(&mut self, text: &TextShape) -> io::Result<()> {
        let turn = Turn(text.angle, text.pos);
        for run in runs(text) {
            if run.background != Color32::TRANSPARENT {
                let fill = Fill(run.background);
                self.put(format_args!("<rect{}{fill}{turn}/>\n", Place(run.rect)))?;
            }
            if run.text.trim().is_empty() {
                continue;
            }
            let family = match run.font.family {
                FontFamily::Monospace => "Hack, 'DejaVu Sans Mono', Consolas, Menlo, monospace",
                _ => "'Ubuntu Light', Ubuntu, 'Segoe UI', 'Liberation Sans', Arial, sans-serif",
            };
            // The original length, whatever font draws it.
            let (x, y, size, length) = (Num(run.rect.left()), Num(run.baseline), Num(run.font.size), Num(run.rect.width()));
            self.put(format_args!(
                "<text x=\"{x}\" y=\"{y}\" font-family=\"{family}\" font-size=\"{size}\" textLength=\"{length}\" \
                 lengthAdjust=\"spacingAndGlyphs\"{}{turn}>{}</text>\n",
                Fill(run.color),
                Escaped(&run.text)
            ))?;
        }
        Ok(())
    }
}

fn mean(corners: [Vertex; 3]) -> Color32 {
    let [a, b, c] = corners.map(|corner| corner.color.to_array().map(u16::from));
    let [r, g, b, a] = std::array::from_fn(|i| ((a[i] + b[i] + c[i]) / 3) as u8);
    Color32::from_rgba_premultiplied(r, g, b, a)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]
mod tests {
    use std::sync::Arc;

    use eframe::egui::{self, FontId, Vec2, text::LayoutJob};

    use super::*;

    fn written(shapes: Vec<ClippedShape>) -> String {
        let rect = Rect::from_min_size(pos2(10.0, 20.0), Vec2::new(100.0, 50.0));
        let mut out = Vec::new();
        Drawing { shapes, rect, ground: Color32::from_rgb(1, 2, 3) }.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn everywhere(shape: impl Into<Shape>) -> Vec<ClippedShape> {
        vec![ClippedShape::new(Rect::EVERYTHING, shape.into())]
    }

    #[test]
    fn shapes_are_where_and_as_they_were_painted() {
        let half = Color32::from_rgba_unmultiplied(200, 100, 0, 128);
        let rect = RectShape::new(
            Rect::from_min_size(pos2(12.2, 24.0), Vec2::new(8.0, 6.0)),
            2,
            half,
            Stroke::new(1.0, Color32::WHITE),
            StrokeKind::Inside,
        );
        let svg = written(everywhere(rect));
        assert!(svg.starts_with("<svg ") && svg.contains("width=\"100\" height=\"50\" viewBox=\"10 20 100 50\""), "{svg}");
        assert!(svg.contains("<rect x=\"10\" y=\"20\" width=\"100\" height=\"50\" fill=\"#010203\"/>"), "{svg}");
        assert!(svg.contains("<rect x=\"12\" y=\"24\" width=\"8\" height=\"6\" rx=\"2\" fill=\"#c76400\""), "{svg}");
        assert!(svg.contains("fill-opacity=\"0.502\""), "{svg}");
        assert!(svg.contains("<rect x=\"12.5\" y=\"24.5\" width=\"7\" height=\"5\" rx=\"2\" fill=\"none\" stroke=\"#ffffff\""));
        let line = Shape::line(vec![pos2(10.0, 20.0), pos2(11.234, 21.0)], Stroke::new(1.5, Color32::RED));
        let svg = written(everywhere(line));
        assert!(svg.contains("<path d=\"M10 20L11.23 21\" fill=\"none\" stroke=\"#ff0000\" stroke-width=\"1.5\"/>"), "{svg}");
    }

    #[test]
    fn what_is_cut_in_the_window_is_cut_in_the_picture_and_the_rest_is_left_out() {
        let circle = || Shape::circle_filled(pos2(30.0, 30.0), 9.0, Color32::WHITE);
        let part = Rect::from_min_size(pos2(20.0, 20.0), Vec2::splat(10.0));
        let away = Rect::from_min_size(pos2(500.0, 20.0), Vec2::splat(10.0));
        let clipped = [part, part, away, Rect::EVERYTHING, part].map(|clip| ClippedShape::new(clip, circle()));
        let svg = written(clipped.into());
        assert_eq!(svg.matches("<circle").count(), 4, "{svg}");
        assert_eq!(svg.matches("<clipPath").count(), 1, "{svg}");
        assert_eq!((svg.matches("<g clip-path=\"url(#c0)\">").count(), svg.matches("</g>").count()), (2, 2), "{svg}");
    }

    #[test]
    fn a_mesh_of_one_colour_is_one_polygon_however_its_triangles_turn() {
        let mut mesh = Mesh::default();
        let corners = [(10.0, 20.0), (20.0, 20.0), (10.0, 30.0), (20.0, 30.0)];
        corners.into_iter().for_each(|(x, y)| mesh.colored_vertex(pos2(x, y), Color32::WHITE));
        mesh.add_triangle(0, 1, 2);
        mesh.add_triangle(1, 2, 3);
        let svg = written(everywhere(mesh));
        let path = "<path d=\"M10 20L10 30L20 20ZM20 20L10 30L20 30Z\" fill=\"#ffffff\"/>";
        assert!(svg.contains(path), "{svg}");
    }

    /// Lays out a text as the window does.
    fn text(job: &LayoutJob) -> Shape {
        let ctx = egui::Context::default();
        let mut galley = None;
        let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
            galley.get_or_insert_with(|| ui.painter().layout_job(job.clone()));
        });
        output.textures_delta.clear();
        Shape::Text(TextShape::new(pos2(20.0, 25.0), galley.unwrap(), Color32::WHITE))
    }

    #[test]
    fn texts_stay_texts_with_the_colours_of_their_parts_and_without_what_would_be_markup() {
        let mut job = LayoutJob::simple_singleline("a.exe!".to_owned(), FontId::monospace(12.0), Color32::GRAY);
        let format = egui::TextFormat::simple(FontId::monospace(12.0), Color32::PLACEHOLDER);
        job.append("f<&\u{1}>", 0.0, format);
        let svg = written(everywhere(text(&job)));
        assert!(svg.contains("fill=\"#a0a0a0\">a.exe!</text>"), "{svg}");
        assert!(svg.contains("fill=\"#ffffff\">f&lt;&amp;") && svg.contains("&gt;</text>"), "{svg}");
        assert!(!svg.contains('\u{1}') && svg.contains("font-family=\"Hack"), "{svg}");
        let Shape::Text(shape) = text(&LayoutJob::simple("long\nlines".to_owned(), FontId::default(), Color32::RED, 200.0))
        else {
            panic!("a text is a text")
        };
        let lines: Vec<(String, f32)> = runs(&shape).into_iter().map(|run| (run.text, run.baseline)).collect();
        assert_eq!((lines[0].0.as_str(), lines[1].0.as_str(), lines.len()), ("long", "lines", 2));
        assert!(lines[0].1 < lines[1].1, "one below the other");
    }

    /// Letters that the fonts draw as ligatures, and names with characters that fonts replace.
    #[test]
    fn a_text_with_ligatures_is_one_piece() {
        for name in ["first fluff office", "a->b != c::d => e", "e\u{301}a\u{308}"] {
            for size in [11.0, 12.0, 12.5, 13.0, 14.0] {
                for font in [FontId::proportional(size), FontId::monospace(size)] {
                    let job = LayoutJob::simple_singleline(name.to_owned(), font, Color32::GRAY);
                    let Shape::Text(shape) = text(&job) else { panic!("a text is a text") };
                    let texts: Vec<String> = runs(&shape).into_iter().map(|run| run.text).collect();
                    assert_eq!(texts, [name], "{size}");
                }
            }
        }
    }

    #[test]
    fn a_picture_that_is_too_large_is_an_error() {
        let points: Vec<Pos2> = (0..1_000_000).map(|i| pos2(i as f32 % 97.13, i as f32 % 31.7)).collect();
        let line = Arc::new(Shape::line(points, Stroke::new(1.0, Color32::RED)));
        let shapes = (0..8).map(|_| ClippedShape::new(Rect::EVERYTHING, Shape::clone(&line))).collect();
        let drawing = Drawing { shapes, rect: Rect::from_min_size(Pos2::ZERO, Vec2::splat(9.0)), ground: Color32::BLACK };
        let mut out = io::sink();
        assert!(drawing.write(&mut out).unwrap_err().to_string().contains("64 MB"));
    }
}
