//! Reads the pages that highwater writes, as a browser takes them apart.

use html5gum::{StartTag, Token, Tokenizer};

/// Elements that have no end tag.
const VOID: [&str; 3] = ["meta", "br", "hr"];
/// Elements and attributes that would load or run something.
const ACTIVE: [&str; 9] = ["script", "link", "img", "iframe", "object", "embed", "base", "form", "a"];

/// An element with its attributes and its own text.
#[derive(Debug, Default)]
pub struct Element {
    pub name: String,
    /// Names and classes of the elements around it, the outermost first.
    pub within: Vec<String>,
    pub attributes: Vec<(String, String)>,
    pub text: String,
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether an element around it has this name or class.
    pub fn is_in(&self, what: &str) -> bool {
        self.within.iter().any(|around| around.split(' ').any(|word| word == what))
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn element(tag: &StartTag<()>, open: &[usize], all: &[Element]) -> Element {
    let attributes: Vec<_> = tag.attributes.iter().map(|(name, value)| (text_of(name), text_of(value))).collect();
    let label = |at: &usize| format!("{} {}", all[*at].name, all[*at].attribute("class").unwrap_or_default());
    Element { name: text_of(&tag.name), within: open.iter().map(label).collect(), attributes, text: String::new() }
}

/// The elements of a page in their order. The page must be well-formed and load nothing.
pub fn elements(page: &str) -> Vec<Element> {
    let (mut all, mut open): (Vec<Element>, Vec<usize>) = Default::default();
    for Ok(token) in Tokenizer::new(page) {
        match token {
            Token::StartTag(tag) => {
                let element = element(&tag, &open, &all);
                assert!(!ACTIVE.contains(&element.name.as_str()), "{element:?}");
                for (name, value) in &element.attributes {
                    assert!(
                        !name.starts_with("on") && !["src", "href", "xlink:href", "action"].contains(&name.as_str()),
                        "{element:?}"
                    );
                    assert!(!value.contains("url("), "{element:?}");
                }
                if !VOID.contains(&element.name.as_str()) && !tag.self_closing {
                    open.push(all.len());
                }
                all.push(element);
            }
            Token::EndTag(tag) => {
                let last = open.pop().map(|at| all[at].name.clone());
                assert_eq!(last.as_deref(), Some(text_of(&tag.name).as_str()), "what is opened last is closed first");
            }
            Token::String(text) => {
                if let Some(&at) = open.last() {
                    all[at].text += &text_of(&text);
                }
            }
            Token::Comment(_) => panic!("a comment"),
            Token::Doctype(doctype) => assert_eq!(text_of(&doctype.name), "html"),
            Token::Error(error) => panic!("{error:?}"),
        }
    }
    assert!(open.is_empty());
    all
}
