//! Pictures of the window: each view, dark and light, and in small and large windows.
//! What a change makes of them is seen in the pictures under `tests/snapshots`; `UPDATE_SNAPSHOTS=1` makes
//! those anew. `pictures/list.rs` has them all.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::driver::{Window, drop_file, settle};
use crate::painter::Painter;
use eframe::egui;
use egui_kittest::kittest::Queryable;
use egui_kittest::{Harness, SnapshotError, SnapshotOptions, SnapshotResult, SnapshotResults, try_image_snapshot_options};
use highwater::app::{HighwaterApp, Options, Settings, Theme};
use highwater::capture::Recorder;
use highwater::load::Input;
use image::{Rgba, RgbaImage};
use tempfile::TempDir;

mod list;

use list::{Machine, PICTURES, Picture, demo};

/// A size of the window, in points, and pixels of each.
#[derive(Clone, Copy)]
struct Size {
    points: [f32; 2],
    scale: f32,
}

const USUAL: Size = Size { points: [1280.0, 800.0], scale: 1.0 };
const SMALL: Size = Size { points: [1024.0, 640.0], scale: 1.0 };
const LARGE: Size = Size { points: [1920.0, 1080.0], scale: 1.0 };
const FINE: Size = Size { points: [1920.0, 1080.0], scale: 2.0 };

/// How far a colour is in any channel from the one that stands for it in a kept picture, where it is no area's.
const FURTHEST: u8 = 24;

/// What machines may round otherwise, in any channel.
const ROUNDING: u8 = 2;

/// What a pixel may differ by: both of these in brightness. A text or a line that has moved by a pixel differs by
/// much more, and areas are compared in a way of their own.
const THRESHOLD: f32 = 0.5053 * (FURTHEST as f32 + ROUNDING as f32) * (FURTHEST as f32 + ROUNDING as f32);

/// The window of a picture, and the folder of its traces.
fn window(theme: Theme, size: Size, picture: &Picture) -> (Window, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut inputs = (picture.traces)(&folder);
    let others = inputs.split_off(inputs.len().min(1));
    let recorder: Option<Arc<dyn Recorder>> = if picture.records { Some(Arc::new(Machine)) } else { None };
    let options = Options { inputs, recorder, theme: Some(theme), ..Options::default() };
    let mut window = Harness::builder()
        .with_size(size.points)
        .with_pixels_per_point(size.scale)
        .with_max_steps(8)
        .with_theme(if theme == Theme::Light { egui::Theme::Light } else { egui::Theme::Dark })
        .with_render_cursor(false)
        .renderer(Painter::default())
        .build_eframe(|cc| HighwaterApp::new(&cc.egui_ctx, options, Settings::default()));
    settle(&mut window);
    for other in others {
        let Input::File(file) = other else { panic!("{other:?} is no file") };
        drop_file(&mut window, &file);
    }
    (window, folder)
}

fn folder() -> PathBuf {
    Path::new("tests/snapshots").to_owned()
}

/// Takes a picture and compares it with what is kept, or keeps it.
fn compare(window: &mut Window, name: &str, scale: f32) -> SnapshotResult {
    let mut image = window.render().unwrap();
    hide(window, &mut image, scale);
    let kept = folder().join(format!("{name}.png"));
    let changed = || std::fs::metadata(&kept).and_then(|file| file.modified()).ok();
    let before = changed();
    let options = SnapshotOptions::new().threshold(THRESHOLD).max_failed_pixels(0).output_path(folder());
    let result = try_image_snapshot_options(&image, name, &options);
    if result.is_ok() && changed() != before {
        shrink(&image, &kept);
    }
    result.and_then(|()| compare_areas(&image, name))
}

/// Writes a picture in a third of its bytes, with 256 colours. Those of areas stay as they are; at the edges
/// of letters and lines one stands for what is next to it.
fn shrink(image: &RgbaImage, file: &Path) {
    let mut counts: HashMap<Rgb, usize> = HashMap::new();
    let mut areas: HashSet<Rgb> = HashSet::new();
    for (x, y, pixel) in image.enumerate_pixels() {
        *counts.entry(rgb(pixel)).or_default() += 1;
        areas.extend(area(image, x, y));
    }
    let mut by_use: Vec<(Rgb, usize)> = counts.into_iter().collect();
    by_use.sort_by_key(|&(color, count)| (Reverse(count), color));
    let (of_areas, others): (Vec<Rgb>, Vec<Rgb>) =
        by_use.into_iter().map(|(color, _)| color).partition(|color| areas.contains(color));
    let palette = (1..=FURTHEST).find_map(|apart| colors(&of_areas, &others, apart)).unwrap();
    let nearest = |&color: &Rgb| (0..palette.len()).min_by_key(|&i| distance(color, palette[i])).unwrap() as u8;
    let indices: HashMap<Rgb, u8> = of_areas.iter().chain(&others).map(|color| (*color, nearest(color))).collect();
    let bytes: Vec<u8> = image.pixels().map(|pixel| indices[&rgb(pixel)]).collect();
    let out = std::io::BufWriter::new(std::fs::File::create(file).unwrap());
    let mut encoder = png::Encoder::new(out, image.width(), image.height());
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(palette.concat());
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    encoder.write_header().unwrap().write_image_data(&bytes).unwrap();
}

/// Red, green, blue.
type Rgb = [u8; 3];

fn rgb(pixel: &Rgba<u8>) -> Rgb {
    [pixel[0], pixel[1], pixel[2]]
}

fn distance(a: Rgb, b: Rgb) -> u8 {
    (0..3).map(|i| a[i].abs_diff(b[i])).max().unwrap()
}

/// The colour of a pixel inside an area of one colour: everything around it has that too.
fn area(image: &RgbaImage, x: u32, y: u32) -> Option<Rgb> {
    let is_inside = |at: u32, size: u32| (2..size - 2).contains(&at);
    let around = (0..25).map(|i| (i % 5, i / 5));
    let color = image.get_pixel(x, y);
    let is_area = is_inside(x, image.width())
        && is_inside(y, image.height())
        && around.into_iter().all(|(i, j)| image.get_pixel(x + i - 2, y + j - 2) == color);
    is_area.then(|| rgb(color))
}

/// All colours of areas, and the most frequent others that are so far apart; if they are few enough.
fn colors(areas: &[Rgb], others: &[Rgb], apart: u8) -> Option<Vec<Rgb>> {
    let mut palette = areas.to_vec();
    for &color in others {
        if palette.iter().all(|&other| distance(color, other) > apart) {
            palette.push(color);
        }
        if palette.len() > 256 {
            return None;
        }
    }
    Some(palette)
}

/// The areas of a picture must have the colours that they had: they are kept as they are.
fn compare_areas(image: &RgbaImage, name: &str) -> SnapshotResult {
    let kept = image::open(folder().join(format!("{name}.png"))).unwrap().to_rgba8();
    for (x, y, _) in kept.enumerate_pixels() {
        let (Some(now), before) = (area(image, x, y), rgb(kept.get_pixel(x, y))) else { continue };
        if distance(now, before) > ROUNDING {
            let err = format!("{name}: the area at {x}, {y} has {now:?}, and had {before:?}");
            return Err(SnapshotError::RenderError { err });
        }
    }
    Ok(())
}

/// Numbers that are others on each machine and in each run: how long something took, or how much memory.
fn hide(window: &Window, image: &mut RgbaImage, scale: f32) {
    let right_of = |label: &str, width: f32, height: f32| {
        let nodes: Vec<egui::Rect> = window.query_all_by_label(label).map(|node| node.rect()).collect();
        nodes.into_iter().map(move |rect| egui::Rect::from_min_size(rect.right_top(), egui::vec2(width, height)))
    };
    let column = window.query_all_by_label("Time").map(|node| node.rect());
    let column = column.map(|rect| egui::Rect::from_min_size(rect.left_bottom(), egui::vec2(rect.width(), 500.0)));
    let status = window.ctx.content_rect().bottom() - 26.0;
    let lines = ["Bytes for allocations", "Bytes while loading"].into_iter().flat_map(|label| right_of(label, 200.0, 18.0));
    for rect in column.chain(lines) {
        let edge = |value: f32, most: u32| ((value * scale).max(0.0) as u32).min(most);
        let (width, height) = image.dimensions();
        for y in edge(rect.top(), height)..edge(rect.bottom().min(status), height) {
            let beside = *image.get_pixel(edge(rect.left(), width - 1), y);
            (edge(rect.left(), width)..edge(rect.right(), width)).for_each(|x| image.put_pixel(x, y, beside));
        }
    }
}

/// How the window is for a set of pictures, and what the names of those end with.
struct Set {
    theme: Theme,
    size: Size,
    ends: &'static str,
}

const SETS: [Set; 5] = [
    Set { theme: Theme::Dark, size: USUAL, ends: "" },
    Set { theme: Theme::Light, size: USUAL, ends: "-light" },
    Set { theme: Theme::Dark, size: SMALL, ends: "-small" },
    Set { theme: Theme::Dark, size: LARGE, ends: "-large" },
    Set { theme: Theme::Dark, size: FINE, ends: "-fine" },
];

/// All pictures, or those whose name has what `HIGHWATER_PICTURE` says.
fn compare_all(set: &Set) {
    let only = std::env::var("HIGHWATER_PICTURE").unwrap_or_default();
    let mut results = SnapshotResults::new();
    let wanted = |picture: &&Picture| picture.name.contains(&only) && picture.is_kept(set.ends);
    for picture in PICTURES.iter().filter(wanted) {
        let (mut window, _folder) = window(set.theme, set.size, picture);
        (picture.steps)(&mut window);
        results.add(compare(&mut window, &format!("{}{}", picture.name, set.ends), set.size.scale));
    }
    results.unwrap();
}

#[test]
fn dark_pictures_are_as_they_were() {
    compare_all(&SETS[0]);
}

#[test]
fn light_pictures_are_as_they_were() {
    compare_all(&SETS[1]);
}

#[test]
#[cfg_attr(windows, ignore = "drawn by the same code; the usual size is enough under Wine")]
fn pictures_of_small_windows_are_as_they_were() {
    compare_all(&SETS[2]);
}

#[test]
#[cfg_attr(windows, ignore = "drawn by the same code; the usual size is enough under Wine")]
fn pictures_of_large_windows_are_as_they_were() {
    compare_all(&SETS[3]);
}

#[test]
#[cfg_attr(windows, ignore = "drawn by the same code; the usual size is enough under Wine")]
fn pictures_of_large_windows_with_small_pixels_are_as_they_were() {
    compare_all(&SETS[4]);
}

#[test]
fn the_overview_is_as_wide_as_the_graph_at_once_when_the_window_is_resized() {
    let (mut window, _folder) = window(Theme::Dark, USUAL, &demo("", |_| {}));
    window.set_size(egui::vec2(1300.0, 800.0));
    window.run(); // as long as it asks to be drawn, and not longer
    let drawn = window.render().unwrap();
    settle(&mut window);
    assert!(drawn == window.render().unwrap(), "nothing was left as it was before");
}

/// A picture of each name, and none that nobody makes any more; small enough for everybody to fetch.
#[test]
fn each_picture_that_is_kept_is_in_the_list() {
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        return; // they are being made
    }
    let kept = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap());
    let sets = |picture: &'static Picture| SETS.iter().map(|set| set.ends).filter(|ends| picture.is_kept(ends));
    let names = PICTURES.iter().flat_map(|picture| sets(picture).map(|ends| format!("{}{ends}.png", picture.name)));
    let mut names: Vec<String> = names.collect();
    let mut sum = 0;
    for file in kept {
        let name = file.file_name().into_string().unwrap();
        if [".new.png", ".old.png", ".diff.png"].iter().any(|end| name.ends_with(end)) {
            continue; // of the last run
        }
        let place = names.iter().position(|other| *other == name).unwrap_or_else(|| panic!("{name} is in no list"));
        names.swap_remove(place);
        let size = file.metadata().unwrap().len();
        assert!(size < 300_000, "{name} has {size} bytes");
        sum += size;
    }
    assert!(names.is_empty(), "not kept: {names:?}");
    assert!(sum < 15_000_000, "{sum} bytes in all");
}
