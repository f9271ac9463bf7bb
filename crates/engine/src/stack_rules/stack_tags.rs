//! Conversion between WPA's stack tags (`.stacktags`) and tag rules.
//!
//! The format is documented in Microsoft Learn, "Stack Tags" (Windows Performance Toolkit): nested `Tag` elements with
//! a name and a priority contain `Entrypoint` elements with a module and a method, in which `*` is a wildcard; either
//! may be absent. A stack gets the tag with the highest priority among those that have one of its frames as an entry
//! point; of equal priorities the tag of the innermost frame. A `HintTag` appends to its name the module of the callee
//! (`HintOperator` `Callee`) or caller (`Caller`), or the function of that frame where `OnlyShowModule` is false.
//!
//! A nested tag is named `outer\inner`. Two points are undocumented: a missing priority (here that of the outer tag),
//! and which of several tags of one priority a frame gets (here the most deeply nested one, then the later one).

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::{BadRules, MAX_RULES, Refusal, StackRules, TagHint, TagRule, check_frame, check_name};
use crate::format::plain;

/// Deepest nesting of elements.
const DEPTH: usize = 64;

/// A tag whose entry points are being read.
#[derive(Clone, Default)]
struct OpenTag {
    name: String,
    priority: i64,
    /// Number of enclosing tags.
    depth: usize,
    hint: Option<TagHint>,
}

/// An entry point: its rule, and the keys that decide which of several tags a stack gets.
struct Entry {
    priority: i64,
    depth: usize,
    rule: TagRule,
}

/// Returns whether a text can be a file of stack tags.
pub(super) fn is_xml(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// Parses a file of stack tags into tag rules.
pub(super) fn parse(text: &str) -> Result<StackRules, BadRules> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut open = vec![OpenTag::default()];
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let from = reader.buffer_position() as usize;
        let place = from..text.len();
        let bad = |what: String| BadRules::at(text, &place, plain(&what));
        match reader.read_event().map_err(|error| bad(error.to_string()))? {
            Event::Eof if open.len() > 1 => return Err(bad("the file ends within an element".to_owned())),
            Event::Eof => break,
            Event::Start(element) => {
                if open.len() > DEPTH {
                    return Err(bad(format!("more than {DEPTH} elements in each other")));
                }
                let around = open.last().cloned().unwrap_or_default();
                let is_tag = matches!(element.name().as_ref(), b"Tag" | b"HintTag");
                if element.name().as_ref() == b"Entrypoint" {
                    if entries.len() == MAX_RULES {
                        return Err(bad(Refusal::TooMany.to_string()));
                    }
                    entries.push(entry(&element, &reader, &around).map_err(bad)?);
                }
                open.push(if is_tag { tag(&element, &reader, &around).map_err(bad)? } else { around });
            }
            Event::End(_) => _ = open.pop(),
            _ => {}
        }
    }
    // The first matching rule wins, so the deeper and the later tags come first.
    entries.reverse();
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.priority, entry.depth)));
    let tags = entries.into_iter().map(|entry| entry.rule).collect();
    StackRules::new(Vec::new(), tags).map_err(|refusal| BadRules { line: None, what: refusal.to_string() })
}

fn attribute(element: &BytesStart<'_>, reader: &Reader<&[u8]>, wanted: &str) -> Result<Option<String>, String> {
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        if attribute.key.as_ref() == wanted.as_bytes() {
            let value = attribute.decoded_and_normalized_value(XmlVersion::Implicit1_0, reader.decoder());
            return value.map(|value| Some(value.trim().to_owned())).map_err(|error| error.to_string());
        }
    }
    Ok(None)
}

fn tag(element: &BytesStart<'_>, reader: &Reader<&[u8]>, around: &OpenTag) -> Result<OpenTag, String> {
    let own = attribute(element, reader, "Name")?.unwrap_or_default();
    let name = match (around.name.as_str(), own.as_str()) {
        (name, "") | ("", name) => name.to_owned(),
        (outer, inner) => format!("{outer}\\{inner}"),
    };
    let priority = match attribute(element, reader, "Priority")? {
        None => around.priority,
        Some(text) => text.parse().map_err(|_| format!("the priority {text} is not a number"))?,
    };
    let says = |wanted: &str, value: &str| {
        Ok::<_, String>(attribute(element, reader, wanted)?.is_some_and(|text| text.eq_ignore_ascii_case(value)))
    };
    let hint = match (says("HintOperator", "Caller")?, says("OnlyShowModule", "false")?) {
        _ if element.name().as_ref() != b"HintTag" => None,
        (false, false) => Some(TagHint::CalleeModule),
        (false, true) => Some(TagHint::CalleeFunction),
        (true, false) => Some(TagHint::CallerModule),
        (true, true) => Some(TagHint::CallerFunction),
    };
    Ok(OpenTag { name, priority, depth: around.depth + 1, hint })
}

fn entry(element: &BytesStart<'_>, reader: &Reader<&[u8]>, tag: &OpenTag) -> Result<Entry, String> {
    let said = |name: &str| Ok::<_, String>(attribute(element, reader, name)?.filter(|text| !text.is_empty() && text != "*"));
    let frame = match (said("Module")?, said("Method")?) {
        (Some(module), Some(method)) => format!("{module}!{method}"),
        (Some(module), None) => format!("{module}!*"),
        (None, Some(method)) => method,
        (None, None) => "*".to_owned(),
    };
    let checked = check_frame(&frame).and_then(|()| check_name(&tag.name));
    checked.map_err(|refusal| refusal.to_string())?;
    let rule = TagRule { frame, name: tag.name.clone(), priority: Some(tag.priority), hint: tag.hint };
    Ok(Entry { priority: tag.priority, depth: tag.depth, rule })
}

/// Returns the tag rules as a file of stack tags. WPA cannot escape `*`, so a literal star becomes a wildcard.
pub(super) fn text(rules: &StackRules) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<Tag Name=\"\">\n".to_owned();
    let lowest = rules.levels.last().copied().unwrap_or(0);
    let mut entries: Vec<(u32, &TagRule)> = rules.levels.iter().map(|level| lowest + 1 - level).zip(rules.tags()).collect();
    // Within one priority WPA's last matching tag wins, so the order is reversed.
    entries.reverse();
    entries.sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
    let escaped = |text: &str| quick_xml::escape::escape(text).into_owned();
    let is_one = |a: &(u32, &TagRule), b: &(u32, &TagRule)| (a.0, &a.1.name, a.1.hint) == (b.0, &b.1.name, b.1.hint);
    for group in entries.chunk_by(is_one) {
        let (priority, TagRule { name, hint, .. }) = group[0];
        let (element, more) = match hint {
            None => ("Tag", String::new()),
            Some(hint) => {
                let (operator, only) = (if hint.is_of_callee() { "Callee" } else { "Caller" }, hint.is_of_module());
                ("HintTag", format!(" HintOperator=\"{operator}\" OnlyShowModule=\"{only}\""))
            }
        };
        text += &format!("  <{element} Name=\"{}\" Priority=\"{priority}\"{more}>\n", escaped(name));
        for (_, rule) in group {
            let frame = rule.frame.replace("\\*", "*");
            let (module, method) =
                frame.split_once('!').map_or((None, frame.as_str()), |(module, method)| (Some(module), method));
            let module = module.map_or_else(String::new, |module| format!(" Module=\"{}\"", escaped(module)));
            text += &format!("    <Entrypoint{module} Method=\"{}\" />\n", escaped(method));
        }
        text += &format!("  </{element}>\n");
    }
    text + "</Tag>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack_rules::frame_pattern::FrameText;

    const FILE: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<!-- made up -->
<Tag Name="">
  <Tag Name="Textures" Priority="10">
    <Entrypoint Module="engine*.dll" Method="Texture::*" />
    <Tag Name="Mips">
      <Entrypoint Module="*" Method="Texture::MakeMips"/>
    </Tag>
  </Tag>
  <Tag Name="A &amp; B" Priority="20"><Entrypoint Module="ab.dll"/></Tag>
  <Tag Name="Low"><Entrypoint Method="Texture::Load"/></Tag>
  <HintTag Name="Hint" Priority="5" HintOperator="Callee"><Entrypoint Module="h.dll" Method="Call"/></HintTag>
  <HintTag Name="By" Priority="4" HintOperator="Caller" OnlyShowModule="false"><Entrypoint Method="Caller"/></HintTag>
  <Tag Name="Later" Priority="10"><Entrypoint Method="Texture::Save"/></Tag>
</Tag>
"#;

    /// Returns the tag of a stack, without hints; `frames` start with the innermost one.
    fn name_of(rules: &StackRules, frames: &[(&str, &str)]) -> Option<String> {
        let rule = |(module, function): &(&str, &str)| rules.tag_rule(&FrameText::named(module, function));
        let rule = frames.iter().filter_map(rule).min_by_key(|&rule| rules.level(rule));
        rule.map(|rule| rules.tags()[rule as usize].name.clone())
    }

    fn check(rules: &StackRules) {
        let name = |frames: &[(&str, &str)]| name_of(rules, frames);
        assert_eq!(name(&[("engine64.dll", "Texture::Load")]).as_deref(), Some("Textures"), "the priority counts");
        assert_eq!(name(&[("game.exe", "Texture::Load")]).as_deref(), Some("Low"));
        assert_eq!(name(&[("engine.dll", "Texture::MakeMips")]).as_deref(), Some(r"Textures\Mips"), "the deeper one");
        assert_eq!(name(&[("engine.dll", "Texture::Save")]).as_deref(), Some("Later"), "the later one");
        let [load, mips] = ["Texture::Load", "Texture::MakeMips"].map(|function| ("engine.dll", function));
        assert_eq!(name(&[load, mips]).as_deref(), Some("Textures"), "of one priority the innermost frame counts");
        assert_eq!(name(&[mips, load]).as_deref(), Some(r"Textures\Mips"));
        assert_eq!(name(&[("engine.dll", "Texture::Save"), ("AB.dll", "f")]).as_deref(), Some("A & B"));
        assert_eq!(name(&[("h.dll", "Call")]).as_deref(), Some("Hint"));
        assert_eq!(name(&[("game.exe", "main")]), None);
        let unnamed = rules.tag_rule(&FrameText::unnamed("ab.dll", 0x10)).map(|rule| rules.tags()[rule as usize].name.as_str());
        assert_eq!(unnamed, Some("A & B"), "a module alone needs no name");
        let hints: Vec<TagHint> = rules.tags().iter().filter_map(|rule| rule.hint).collect();
        assert_eq!(hints, [TagHint::CalleeModule, TagHint::CallerFunction]);
    }

    #[test]
    fn a_stack_has_the_tag_of_the_highest_priority_and_what_is_written_says_the_same() {
        let rules = StackRules::parse(FILE).unwrap();
        check(&rules);
        check(&StackRules::parse(&text(&rules)).unwrap());
        check(&StackRules::parse(&rules.to_text()).unwrap());
        assert_eq!(StackRules::parse(&text(&StackRules::default())).unwrap(), StackRules::default());
    }

    #[test]
    fn what_is_no_file_of_stack_tags_is_told_with_its_line() {
        let told = |text: &str| StackRules::parse(text).unwrap_err().to_string();
        assert!(told("<Tag Name='a' Priority='high'>\n</Tag>").contains("line 1: the priority high is not a number"));
        assert!(told("<Tag Name='a'>\n <Entrypoint Method='f'/>\n</Tug>").contains("line 3: "), "{}", told("<Tag>\n</Tug>"));
        assert!(told("<Tag>\n <Entrypoint Method='f'/></Tag>").contains("line 2: the name is empty"));
        assert!(told("<Tag Name='a'><Entrypoint Method='&evil;'/></Tag>").contains("evil"));
        assert!(told(&"<Tag Name='a'>".repeat(100)).contains("in each other"));
        let many = format!("<Tag Name='a'>{}</Tag>", "<Entrypoint Method='f'/>".repeat(MAX_RULES + 1));
        assert!(told(&many).contains("more than 1000 rules"));
        assert!(told("<Tag Name='a'>\n").contains("line 2: the file ends within an element"));
        assert!(StackRules::parse("<Tag Name='a'/>").is_ok());
    }
}
