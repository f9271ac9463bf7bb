//! The program's icon, drawn by code: outstanding memory climbs in two steps under the high-water mark.
//! It is used for the window at run time; the test below makes `assets/highwater.ico`, which Windows
//! shows for the executable, from the same drawing.

use eframe::egui;

/// The icon of the window.
pub fn icon() -> egui::IconData {
    let size = 64;
    egui::IconData { rgba: draw(size), width: size, height: size }
}

/// A square picture of this many pixels a side, as RGBA.
fn draw(size: u32) -> Vec<u8> {
    (0..size).flat_map(|y| (0..size).flat_map(move |x| pixel(x, y, size))).collect()
}

/// A pixel is the average of several points in it, so that edges are smooth.
fn pixel(x: u32, y: u32, size: u32) -> [u8; 4] {
    const POINTS: u32 = 4;
    let at = |pixel: u32, i: u32| (pixel as f32 + (i as f32 + 0.5) / POINTS as f32) / size as f32;
    let points = (0..POINTS).flat_map(|j| (0..POINTS).map(move |i| (i, j)));
    let hits: Vec<[u8; 3]> = points.filter_map(|(i, j)| colour(at(x, i), at(y, j))).collect();
    let n = (hits.len() as u32).max(1);
    let mean = |channel: usize| (hits.iter().map(|hit| u32::from(hit[channel])).sum::<u32>() / n) as u8;
    let opacity = hits.len() as u32 * 255 / (POINTS * POINTS);
    [mean(0), mean(1), mean(2), opacity as u8]
}

/// The colour at a point of the unit square; `None` outside the rounded corners.
fn colour(x: f32, y: f32) -> Option<[u8; 3]> {
    const MARK: [u8; 3] = [0xFF, 0xAE, 0x42];
    const WATER: [u8; 3] = [0x5B, 0x9D, 0xFF];
    const GROUND: [u8; 3] = [0x1B, 0x24, 0x30];
    let corner = egui::vec2((x - 0.5).abs() - 0.34, (y - 0.5).abs() - 0.34).max(egui::Vec2::ZERO);
    if corner.length() > 0.14 {
        return None;
    }
    let level = match x {
        ..0.38 => 0.68,
        ..0.66 => 0.48,
        _ => 0.34,
    };
    Some(match y {
        _ if (y - 0.24).abs() < 0.03 => MARK,
        _ if y > level => WATER,
        _ => GROUND,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The sizes that Windows shows at 100 to 200 %, and the largest, which is stored as PNG.
    const SIZES: [u32; 8] = [16, 20, 24, 32, 40, 48, 64, 256];

    /// An icon file in the format that Windows has used since 3.0 (ICONDIR, ICONDIRENTRY; an image is a
    /// BITMAPINFOHEADER with twice the height, pixels from the bottom up, and a mask that 32-bit images
    /// do not need), with PNG for size 256 since Vista.
    fn icon_file() -> Vec<u8> {
        let pictures: Vec<Vec<u8>> = SIZES.iter().map(|&size| if size < 256 { bitmap(size) } else { png(size) }).collect();
        let mut file = [0_u16, 1, SIZES.len() as u16].map(u16::to_le_bytes).concat();
        let mut offset = 6 + 16 * SIZES.len() as u32;
        for (size, picture) in SIZES.iter().zip(&pictures) {
            let side = (size % 256) as u8;
            file.extend([side, side, 0, 0, 1, 0, 32, 0]);
            file.extend([picture.len() as u32, offset].map(u32::to_le_bytes).concat());
            offset += picture.len() as u32;
        }
        file.extend(pictures.concat());
        file
    }

    fn bitmap(size: u32) -> Vec<u8> {
        let mut bytes = [40, size, 2 * size, 1 | 32 << 16, 0, 0, 0, 0, 0, 0].map(u32::to_le_bytes).concat();
        for row in draw(size).chunks(4 * size as usize).rev() {
            bytes.extend(row.chunks(4).flat_map(|rgba| [rgba[2], rgba[1], rgba[0], rgba[3]]));
        }
        bytes.resize(bytes.len() + (size.div_ceil(32) * 4 * size) as usize, 0);
        bytes
    }

    fn png(size: u32) -> Vec<u8> {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::write_buffer_with_format(&mut bytes, &draw(size), size, size, image::ColorType::Rgba8, image::ImageFormat::Png)
            .unwrap();
        bytes.into_inner()
    }

    #[test]
    fn the_icon_of_the_program_file_is_the_drawn_one() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/highwater.ico");
        if std::env::var_os("HIGHWATER_WRITE_ICON").is_some() {
            std::fs::write(&path, icon_file()).unwrap();
        }
        let (kept, drawn) = (std::fs::read(path).unwrap(), icon_file());
        let (last_entry, pictures) = (6 + 16 * (SIZES.len() - 1), 6 + 16 * SIZES.len());
        let start_of_png = drawn.len() - png(256).len();
        // Other versions of the library may compress the largest one differently.
        for part in [0..last_entry, pictures..start_of_png] {
            assert!(kept[part.clone()] == drawn[part], "HIGHWATER_WRITE_ICON=1 writes it again");
        }
        let largest = image::load_from_memory(&kept[start_of_png..]).unwrap().to_rgba8();
        assert!(largest.into_raw() == draw(256), "HIGHWATER_WRITE_ICON=1 writes it again");
    }
}
