//! A field for typing the path of a file, for systems that show no file dialog and users who have the path at hand.

use std::path::PathBuf;

use eframe::egui::{self, Button, RichText, WidgetInfo};

use super::context::PanelContext;
use crate::app::commands::Command;
use crate::app::services::dialogs::TypedPath;

pub fn show(context: &mut PanelContext<'_>, ctx: &egui::Context) {
    let Some(typed) = context.typed_path else { return };
    let mut text = typed.text.clone();
    let (mut is_done, mut is_closed) = (false, false);
    let dialog = egui::Modal::new(egui::Id::unique("typed path")).show(ctx, |ui| {
        ui.set_width(560.0f32.min(ctx.content_rect().width() - 60.0));
        ui.heading(typed.purpose.title());
        let saved_as = typed.purpose.saved_as();
        let asked = match saved_as {
            None => "Type or paste the path:",
            Some(_) => "Type where to save it:",
        };
        match typed.is_instead {
            true => ui.label(format!("This system shows no dialog for files (it has no desktop portal). {asked}")),
            false => ui.label(asked),
        };
        let hint = match &saved_as {
            None => "/folder/game.etl".to_owned(),
            Some((name, kind)) => format!("/folder/{name}.{kind}"),
        };
        let field = egui::TextEdit::singleline(&mut text).id(egui::Id::unique("path field"));
        let field = ui.add(field.hint_text(hint).desired_width(f32::INFINITY));
        field.widget_info(|| WidgetInfo::labeled(egui::Role::TextInput, true, "Path"));
        is_done = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        let is_unused = (typed.text.is_empty() && text.is_empty()) || ui.memory(|memory| memory.focused().is_none());
        if is_unused && !is_done {
            field.request_focus();
        }
        if let Some(complaint) = &typed.complaint {
            ui.add(egui::Label::new(RichText::new(complaint).color(ui.visuals().error_fg_color)).wrap());
        }
        let more = match &saved_as {
            None => "Files can also be dropped on the window.".to_owned(),
            Some((_, kind)) => format!("A name without an extension gets .{kind}. highwater asks before it replaces a file."),
        };
        ui.label(RichText::new(more).weak());
        ui.separator();
        ui.horizontal(|ui| {
            let is_ready = !path(&text).as_os_str().is_empty();
            is_done = ui.add_enabled(is_ready, Button::new(typed.purpose.verb())).clicked() || (is_done && is_ready);
            is_closed = ui.button("Cancel").clicked();
        });
    });
    if is_done {
        context.commands.push(Command::TypePath(None));
        let typed = TypedPath { complaint: None, text: text.clone(), ..typed.clone() };
        context.commands.push(Command::TakeFiles(typed.purpose.clone(), vec![path(&text)], Some(typed)));
    } else if is_closed || dialog.should_close() {
        context.commands.push(Command::TypePath(None));
    } else if text != typed.text {
        context.commands.push(Command::TypePath(Some(TypedPath { text, ..typed.clone() })));
    }
}

/// A path as shells and file managers copy it: with quotes or blanks around it.
fn path(text: &str) -> PathBuf {
    let text = text.trim();
    let quotes = ['"', '\''];
    let bare = quotes.into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(text);
    bare.strip_prefix("file://").unwrap_or(bare).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_as_they_are_copied() {
        for text in ["/a b.etl", " /a b.etl\n", "\"/a b.etl\"", "'/a b.etl'", "file:///a b.etl"] {
            assert_eq!(path(text), PathBuf::from("/a b.etl"), "{text}");
        }
        assert_eq!(path("\""), PathBuf::from("\""), "one quote is a name");
        assert!(path("  ").as_os_str().is_empty());
    }
}
