"""The tables of fields that the program fields_page (fields.cpp) prints: a question's, an answer's, a file's."""
import re
import subprocess


def tables(program):
    """{name: table in Markdown}, in the order of the program."""
    printed = subprocess.run([program], capture_output=True, text=True, timeout=60, check=True).stdout
    return {name: table for name, table in re.findall(r"(?m)^@(.*)\n((?:[^@].*\n)*)", printed)}


def page(known):
    """Markdown: a section a question, with the fields of what is asked and of the answer."""
    questions = [name.removeprefix("asked of ") for name in known if name.startswith("asked of ")]
    return "\n".join(f"## {one}\n\n{known[f'asked of {one}']}\nThe answer:\n\n{known[f'answer of {one}']}" for one in questions)
