"""The public declarations of a header of this project, read without a compiler: types with their public members, whole functions without
their bodies, aliases and constants, each with its comment. Namespaces `detail` and without a name are left out, as are forward
declarations. Headers are formatted by clang-format, which this reader relies on.
"""
import dataclasses
import re

TYPE = re.compile(r"^(?:template\s*<.*>\s*)?(?:requires.*\s)?(struct|class|enum|union)\b", re.S)


@dataclasses.dataclass
class Declaration:
    kind: str  # struct, class, enum, union, function, alias, concept, value
    name: str
    text: str  # as in the header, bodies of functions left out
    comment: list  # lines without their slashes
    after: str = ""  # what a `///<` behind it says


def _skip(text, at):
    """The end of the string, character or comment that begins here; `at` when none does."""
    if text.startswith("//", at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if text.startswith("/*", at):
        return text.find("*/", at) + 2
    if text.startswith('R"(', at):
        return text.find(')"', at) + 2
    if text[at] in "\"'" and not (text[at] == "'" and text[at - 1].isalnum()):  # 1'000 is a number
        end = at + 1
        while text[end] != text[at]:
            end += 2 if text[end] == "\\" else 1
        return end + 1
    return at


def _closing(text, at):
    """Behind the bracket that closes the one here."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    wanted = []
    while at < len(text):
        end = _skip(text, at)
        if end != at:
            at = end
            continue
        if text[at] in pairs:
            wanted.append(pairs[text[at]])
        elif wanted and text[at] == wanted[-1]:
            wanted.pop()
            if not wanted:
                return at + 1
        at += 1
    raise ValueError("a bracket is not closed")


def _plain(head):
    """A declaration's beginning without template arguments, attributes and what stands in brackets, which are an @; operators are words."""
    head = re.sub(r"//.*", "", head)
    head = re.sub(r"\boperator(?!\w)\s*(\(\)|[^\s\w(]+)", lambda m: "operator_" + "".join(f"{ord(c):x}" for c in m[1]), head)
    before = None
    while before != head:  # the inmost brackets first
        before = head
        head = re.sub(r"\([^()]*\)", "@", head)
        head = re.sub(r"\[[^\[\]]*\]|<[^<>=;]*>", " ", head)
    return head


def _end(text, at):
    """(where the text to show ends, where the declaration ends, whether a body was left out) of the declaration that begins here."""
    start = at
    while at < len(text):
        skipped = _skip(text, at)
        if skipped != at:
            at = skipped
            continue
        if text[at] == ";":
            return at, at + 1, False
        if text[at] in "([":
            at = _closing(text, at)
            continue
        if text[at] == "{":
            head = text[start:at]
            plain = _plain(head)
            if TYPE.match(plain):
                at = _closing(text, at)
                continue
            assigned = re.search(r"(?<![=!<>])=(?!=)", plain)
            member = re.search(r"\)\s*(?:noexcept\s*)?:\s[^;]*\w$", head)  # value_{value} of a constructor
            if "@" in plain and not assigned and not member:
                return at, _closing(text, at), True
            at = _closing(text, at)
            continue
        at += 1
    raise ValueError(f"a declaration has no end: {text[start:start + 80]!r}")


def _named(text):
    """(kind, name) of a declaration; None for what declares nothing."""
    plain = _plain(re.sub(r"^template\s*(<.*?>)\s*(?=\n|requires|struct|class|using|inline|constexpr|\[\[|concept)", "", text, flags=re.S))
    plain = re.sub(r"^\s*(template\s*)?requires *(@|.*\n)", "", plain)
    plain = re.sub(r"\s+", " ", plain.split("{")[0] if TYPE.match(plain) else plain).strip()
    if match := re.match(r"(?:requires.*? )?(struct|class|union|enum(?: class)?) (?:alignas@ )?(\w+)", plain):
        return match[1].split()[0], match[2]
    if match := re.match(r"using (\w+) ?=", plain):
        return "alias", match[1]
    if match := re.search(r"\bconcept (\w+) ?=", plain):
        return "concept", match[1]
    if match := re.search(r"(\boperator \w[\w:]*[&*]?|~?\w+) ?@", re.split(r"(?<![=!<>])=(?!=)", plain)[0]):
        hidden = re.fullmatch(r"operator_((?:[0-9a-f]{2})+)", match[1])
        return "function", "operator" + bytes.fromhex(hidden[1]).decode() if hidden else match[1]
    if match := re.search(r"(\w+) ?(?:=|\{|;|$|,)", plain):
        return "value", match[1]
    return None


def declared(text, private=False, inside=""):
    """Declarations of a scope, in order. `private`: whether members are until `public:`; `inside`: the type whose members these are."""
    out, comment, at = [], [], 0
    while at < len(text):
        if text[at].isspace():
            if text.startswith("\n\n", at):
                comment = []
            at += 1
        elif text.startswith("///", at) and not text.startswith("///<", at):
            end = _skip(text, at)
            comment.append(text[at + 3 : end].removeprefix(" "))
            at = end
        elif text.startswith("//", at):
            at = _skip(text, at)
        elif text[at] == "#":
            while (line := text[at : text.find("\n", at) + 1 or len(text)]).endswith("\\\n"):
                at += len(line)
            at += len(line)
            comment = []
        elif match := re.compile(r"(public|private|protected):").match(text, at):
            private, at, comment = match[1] != "public", match.end(), []
        elif match := re.compile(r"(?:inline )?namespace ?([\w:]*) ?\{").match(text, at):
            end = _closing(text, match.end() - 1)
            if match[1] and "detail" not in match[1].split("::"):
                out += declared(text[match.end() : end - 1])
            at, comment = end, []
        elif text[at] in ";}":
            at += 1
        elif match := re.compile(r"[A-Z][A-Z_]+\([^\n]*\)(?=\s)").match(text, at):  # a macro's call
            at, comment = match.end(), []
        else:
            shown, end, cut = _end(text, at)
            own = text[at:shown].rstrip()
            after = re.compile(r"[ ;]*///< ?(.*(?:\n\s*///<.*)*)").match(text, end)
            named = _named(own)
            forward = named and named[0] in ("struct", "class") and "{" not in own
            deleted = not inside and own.endswith("= delete")
            silent = deleted or own.startswith(("using namespace", "static_assert", "extern template", "template class", "template struct"))
            if named and not private and not forward and not silent and (inside or not own.startswith("friend")):
                if named[0] in ("struct", "class", "union") and "{" in own:
                    own = _type(own, named[1], named[0] == "class")
                if named[0] == "function":
                    own = re.sub(r"\)\s*(?:noexcept\s*)?:\s(?!:).*$", ")", own, flags=re.S) if cut else own
                out.append(Declaration(*named, own, comment, re.sub(r"\s*///< ?", " ", after[1]).strip() if after else ""))
            at, comment = (after.end() if after else end), []
    return out


def _type(text, name, private):
    """A type with its public members, the bodies of its functions left out."""
    brace = text.index("{")
    members = declared(text[brace + 1 : _closing(text, brace) - 1], private, name)
    lines = [text[:brace].rstrip() + " {", *([" public:"] if private else [])]
    for one in members:
        lines += [f"  /// {line}".rstrip() for line in one.comment]
        body = one.text.split("\n")
        indent = min((len(line) - len(line.lstrip()) for line in body[1:] if line.strip()), default=2)
        member = "\n".join([body[0], *("  " + line[min(indent, 2):] for line in body[1:])])
        lines.append(f"  {member};" + (f"  ///< {one.after}" if one.after else ""))
    return "\n".join([*lines, "}"])
