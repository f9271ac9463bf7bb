//! WPA's stack tags (`.stacktags`) as rules that give names, and ours as such a file.
//!
//! The form is in Microsoft Learn, "Stack Tags" (Windows Performance Toolkit): `Tag` elements in each other, with a name and a
//! priority, hold `Entrypoint` elements with a module and a method, in which `*` stands for anything; either may be left
//! out. A stack has the tag of the highest priority of which any frame is an entry point; of equal ones that which lies
//! deeper, then that which comes later. A `HintTag`, which WPA names after the frames around it, has its own name here.
//!
//! A tag in another one is called `outer\inner`. What is inherited of a priority that is not given is not documented; it
//! is that of the tag around.

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::{BadRules, MAX_RULES, Refusal, StackRules, TagRule, check_frame, check_name};
use crate::format::plain;

/// Elements in each other at most.
const DEPTH: usize = 64;

/// A tag whose entry points are read.
#[derive(Clone, Default)]
struct OpenTag {
    name: String,
    priority: i64,
    /// Tags around it.
    depth: usize,
}

/// An entry point: the rule and what decides which of several names a stack.
struct Entry {
    priority: i64,
    depth: usize,
    rule: TagRule,
}

/// Whether a text can be a file of stack tags.
pub(super) fn is_xml(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// Rules that name stacks as a file of stack tags does.
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
    // The rule that stands first wins.
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
        Some(text) => text.parse().map_err(|_| format!("the priority {text} is no number"))?,
    };
    Ok(OpenTag { name, priority, depth: around.depth + 1 })
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
    let rule = TagRule { frame, name: tag.name.clone() };
    Ok(Entry { priority: tag.priority, depth: tag.depth, rule })
}

/// The text of a file of stack tags with these rules. WPA has no sign for a star that is meant.
pub(super) fn text(rules: &[TagRule]) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<Tag Name=\"\">\n".to_owned();
    let groups: Vec<&[TagRule]> = rules.chunk_by(|a, b| a.name == b.name).collect();
    for (group, priority) in groups.iter().zip((1..=groups.len()).rev()) {
        let escaped = |text: &str| quick_xml::escape::escape(text).into_owned();
        text += &format!("  <Tag Name=\"{}\" Priority=\"{priority}\">\n", escaped(&group[0].name));
        // Of one priority the last comes first; all have one name, so it does not matter.
        for rule in *group {
            let frame = rule.frame.replace("\\*", "*");
            let (module, method) =
                frame.split_once('!').map_or((None, frame.as_str()), |(module, method)| (Some(module), method));
            let module = module.map_or_else(String::new, |module| format!(" Module=\"{}\"", escaped(module)));
            text += &format!("    <Entrypoint{module} Method=\"{}\" />\n", escaped(method));
        }
        text += "  </Tag>\n";
    }
    text + "</Tag>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack_rules::FrameText;

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
  <Tag Name="Later" Priority="10"><Entrypoint Method="Texture::Save"/></Tag>
</Tag>
"#;

    /// The name of a stack with these frames, innermost or not.
    fn name_of(rules: &StackRules, frames: &[(&str, &str)]) -> Option<String> {
        let rule = |(module, function): &(&str, &str)| rules.tag_rule(&FrameText::named(module, function));
        frames.iter().filter_map(rule).min().map(|rule| rules.name(rules.tag_of_rule(rule)).to_string())
    }

    fn check(rules: &StackRules) {
        let name = |frames: &[(&str, &str)]| name_of(rules, frames);
        assert_eq!(name(&[("engine64.dll", "Texture::Load")]).as_deref(), Some("Textures"), "the priority counts");
        assert_eq!(name(&[("game.exe", "Texture::Load")]).as_deref(), Some("Low"));
        assert_eq!(name(&[("engine.dll", "Texture::MakeMips")]).as_deref(), Some(r"Textures\Mips"), "the deeper one");
        assert_eq!(name(&[("engine.dll", "Texture::Save")]).as_deref(), Some("Later"), "the later one");
        assert_eq!(name(&[("engine.dll", "Texture::Save"), ("AB.dll", "f")]).as_deref(), Some("A & B"));
        assert_eq!(name(&[("h.dll", "Call")]).as_deref(), Some("Hint"));
        assert_eq!(name(&[("game.exe", "main")]), None);
        let unnamed = rules.tag_rule(&FrameText::unnamed("ab.dll", 0x10)).map(|rule| rules.tag_of_rule(rule));
        assert_eq!(unnamed, rules.tag_called("A & B"), "a module alone needs no name");
    }

    #[test]
    fn a_stack_has_the_tag_of_the_highest_priority_and_what_is_written_says_the_same() {
        let rules = StackRules::parse(FILE).unwrap();
        check(&rules);
        check(&StackRules::parse(&text(rules.tags())).unwrap());
        assert_eq!(StackRules::parse(&text(&[])).unwrap(), StackRules::default());
    }

    #[test]
    fn what_is_no_file_of_stack_tags_is_told_with_its_line() {
        let told = |text: &str| StackRules::parse(text).unwrap_err().to_string();
        assert!(told("<Tag Name='a' Priority='high'>\n</Tag>").contains("line 1: the priority high is no number"));
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
