//! Lines as shapes: at most a few corners per point of width, however many the line has.

use eframe::egui::{Color32, Mesh, Pos2, Rect, Shape, Stroke, epaint::PathStroke};

use crate::query::Series;
use crate::units::{Interval, Ticks};

/// The visible corners of a line: in each column one point wide the first, lowest, highest and last, if they differ.
pub fn visible(corners: impl Iterator<Item = Pos2>) -> Vec<Pos2> {
    let mut points: Vec<Pos2> = Vec::new();
    let (mut column, mut first) = (i64::MIN, 0);
    for corner in corners {
        let its_column = corner.x.floor() as i64;
        if its_column != column {
            (column, first) = (its_column, points.len());
        }
        let inside = points.len() - first;
        if inside < 4 {
            points.push(corner);
            continue;
        }
        // The first, the two extremes, and the latest, which is replaced by the next one.
        let [low, high] = [first + 1, first + 2];
        let latest = points[first + 3];
        if latest.y > points[low].y.max(points[high].y) {
            let at = if points[low].y > points[high].y { low } else { high };
            points[at].y = latest.y;
        } else if latest.y < points[low].y.min(points[high].y) {
            let at = if points[low].y < points[high].y { low } else { high };
            points[at].y = latest.y;
        }
        points[first + 3] = corner;
    }
    points
}

/// The line as a stroke.
pub fn stroke(points: Vec<Pos2>, width: f32, color: Color32) -> Shape {
    Shape::line(points, PathStroke::new(width, color))
}

/// The area between a line and the bottom of `area`.
pub fn fill(points: &[Pos2], area: Rect, color: Color32) -> Shape {
    let mut mesh = Mesh::default();
    mesh.reserve_vertices(2 * points.len());
    for (i, point) in points.iter().enumerate() {
        let corner = mesh.vertices.len() as u32;
        mesh.colored_vertex(*point, color);
        mesh.colored_vertex(Pos2::new(point.x, area.bottom()), color);
        if i > 0 && point.x > points[i - 1].x {
            mesh.add_triangle(corner - 2, corner - 1, corner);
            mesh.add_triangle(corner - 1, corner, corner + 1);
        }
    }
    Shape::mesh(mesh)
}

/// The stroke of a thin horizontal line.
pub fn edge(color: Color32) -> Stroke {
    Stroke::new(1.0, color)
}

/// The position of a moment of `span` across `rect`.
pub fn x_in(rect: Rect, span: Interval, t: Ticks) -> f32 {
    let part = (t.0.saturating_sub(span.from.0)) as f64 / (span.len().max(1)) as f64;
    rect.left() + rect.width() * part as f32
}

/// A line over the whole trace that fills `rect`, with `peak` at its top. It has at most a few corners
/// per point of width: more would not be visible.
pub fn small_line(line: &Series, rect: Rect, span: Interval, peak: u64, color: Color32) -> Shape {
    stroke(small_corners(line, rect, span, peak), 1.0, color)
}

/// The corners of a small line.
pub fn small_corners(line: &Series, rect: Rect, span: Interval, peak: u64) -> Vec<Pos2> {
    let y = |value: u64| rect.bottom() - rect.height() * (value as f32 / peak.max(1) as f32);
    visible(line.points.iter().map(|(t, value)| Pos2::new(x_in(rect, span, *t), y(*value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowded_column_keeps_its_ends_and_extremes() {
        let crowd = (0..1000).map(|i| Pos2::new(5.0 + i as f32 / 1000.0, if i == 333 { 90.0 } else { (i % 7) as f32 }));
        let line: Vec<Pos2> = [Pos2::new(1.0, 3.0)].into_iter().chain(crowd).chain([Pos2::new(9.0, 2.0)]).collect();
        let seen = visible(line.iter().copied());
        assert!(seen.len() <= 6, "{seen:?}");
        assert_eq!((seen[0], seen[1]), (line[0], line[1]));
        assert_eq!(seen[seen.len() - 2..], line[line.len() - 2..]);
        assert!(seen.iter().any(|point| point.y == 90.0) && seen.iter().any(|point| point.y == 0.0));
    }

    #[test]
    fn few_corners_stay_what_they_are() {
        let line: Vec<Pos2> = (0..50).map(|i| Pos2::new(i as f32 * 0.7, (i * i % 11) as f32)).collect();
        assert_eq!(visible(line.iter().copied()), line);
    }
}
