# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `rdb gdb` adds to gdb: commands that move about in a recording by position.

gdb learns of a new position as it learns of everything, by a stop. So a command that moves tells the server
where to go, and then lets gdb make a step, which the server answers from there."""
import json
import os
import re
import sys

import gdb


def output_of(command):
    """What a command prints, without what `set trace-commands on` adds."""
    text = gdb.execute(command, to_string=True)
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("+"))


def monitor(command):
    text = output_of("monitor " + command)
    if text.startswith("rdb: "):
        raise gdb.GdbError(text.strip())
    return text


# A function that gdb calls and that cannot go on is given up: it runs in a copy, and nobody can continue that.
gdb.execute("set unwindonsignal on")


def current_thread():
    """The id of the thread that runs next, as the recorded program knew it."""
    return int(re.search(r"thread (\d+)", monitor("when")).group(1))


def look_again():
    """gdb remembers the registers of threads that it has not resumed. In a recording they have gone on as they did."""
    gdb.execute("maintenance flush register-cache", to_string=True)


def look_at_all_threads(event):
    if len(gdb.selected_inferior().threads()) > 1:
        look_again()


gdb.events.stop.connect(look_at_all_threads)


def go(command):
    monitor("at-resume " + command)
    was_silent = gdb.parameter("suppress-cli-notifications")
    gdb.execute("set suppress-cli-notifications on", to_string=True)
    try:
        gdb.execute("stepi", to_string=True)
    finally:
        gdb.execute("set suppress-cli-notifications " + ("on" if was_silent else "off"), to_string=True)
    runs_next = current_thread()
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == runs_next:
            thread.switch()
    try:
        monitor("moved")
    finally:  # a move that failed has led somewhere, too
        look_again()
        # gdb follows the list of libraries by breakpoints in the dynamic linker, and a jump passes none of them.
        gdb.execute("sharedlibrary", to_string=True)
    gdb.write(output_of("frame"))


class Shown(gdb.Command):
    """A command that the server answers with text."""

    def __init__(self, name, summary, command_class=gdb.COMMAND_STATUS):
        self.__doc__ = summary
        self.name = name
        super().__init__(name, command_class)

    def invoke(self, argument, from_tty):
        gdb.write(monitor((self.name + " " + argument).strip()))


class Moves(gdb.Command):
    """A command after which the program is elsewhere."""

    def __init__(self, name, summary):
        self.__doc__ = summary
        self.name = name
        super().__init__(name, gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        go((self.name + " " + argument).strip())


Shown("when", "Show where in the recording the program is: its time, and the thread that runs next.")
Shown("when-end", "Show where the recording ends, and how the program ended.")
Shown("bookmark", "bookmark NAME: give this position a name for goto. Without NAME, list the bookmarks.")
Shown("checkpoint", "checkpoint [NOTE]: remember this position under a number for restart.")
Shown("info checkpoints", "List the checkpoints.")
Shown("delete checkpoint", "delete checkpoint N: forget checkpoint N.")
Moves("goto", "goto WHERE: go to a time, to NN% of the recording, to start, to end or to a bookmark.")
Moves("restart", "restart N: go to checkpoint N.")


class Run(gdb.Command):
    """What a user types before anything else: a recorded run begins again at its start."""

    def __init__(self, name, summary, goes_on, stops_in_main=False):
        self.__doc__ = summary
        self.goes_on = goes_on
        self.stops_in_main = stops_in_main
        super().__init__(name, gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        if argument:
            raise gdb.GdbError("rdb: a recorded run has the arguments that it was recorded with")
        if self.stops_in_main:
            gdb.execute("tbreak main")
        gdb.execute("goto start", to_string=self.goes_on)
        if self.goes_on:
            gdb.execute("continue", from_tty)


Run("run", "run: go to the start of the recording, and continue.", True)
Run("start", "start: go to the start of the recording, and to main.", True, stops_in_main=True)
Run("starti", "starti: go to the start of the recording.", False)


def place_of(expression):
    """The address and the type of what an expression names, or of what a pointer that is computed leads to; a plain
    number is the address of eight bytes."""
    word = gdb.lookup_type("unsigned long")
    if re.fullmatch(r"0x[0-9a-f]+|[0-9]+", expression.strip(), re.IGNORECASE):
        return int(expression, 0), word
    value = gdb.parse_and_eval(expression)
    if value.is_optimized_out:
        raise gdb.GdbError(f"rdb: {expression} is optimised out here")
    try:
        place = gdb.parse_and_eval(f"&({expression})")
        return int(place), value.type
    except gdb.error as error:
        computed = "register" not in str(error)
    if computed and value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        pointed = value.type.strip_typedefs().target()
        return int(value), pointed if pointed.sizeof > 1 else word
    raise gdb.GdbError(f"rdb: {expression} is not in memory here: give something that has an address")


def has_failed():
    """Has the replay? Then the process that serves it says why, after gdb."""
    try:
        return output_of("monitor failed") == "yes\n"
    except gdb.error:  # gdb has given up the connection
        return True


def unreadable(error):
    """Shown in place of a value that is not there; where the replay has failed, nothing that gdb reads is there."""
    if has_failed():
        raise error
    return f"<{error}>"


def value_at(address, value_type):
    try:
        return gdb.Value(address).cast(value_type.pointer()).dereference().format_string(max_elements=40)
    except gdb.error as error:
        return unreadable(error)


class LastWrite(gdb.Command):
    """last-write EXPRESSION: go back to the instruction that wrote to it last. A number is an address."""

    def __init__(self):
        super().__init__("last-write", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        try:
            address, value_type = place_of(argument)
        except gdb.error as error:
            raise gdb.GdbError(f"rdb: {error}") from None
        go(f"last-write {address} {value_type.sizeof}")


LastWrite()


def where():
    """The time and the thread of the present position."""
    return re.match(r"At (\S+), thread (\d+)", monitor("when")).groups()


def short(name):
    """A function's name without the arguments of templates."""
    out, depth = "", 0
    for i, char in enumerate(name):
        if char == "<" and not name[:i].endswith("operator") and not name[:i].endswith("operator<"):
            out += "<...>" if depth == 0 else ""
            depth += 1
        elif char == ">" and depth > 0:
            depth -= 1
        elif depth == 0:
            out += char
    return out


def location(frame):
    """A frame's function, and its line or its library."""
    line = frame.find_sal()
    if line.symtab is not None:
        place = f"{os.path.basename(line.symtab.filename)}:{line.line}"
    else:
        place = os.path.basename(gdb.solib_name(frame.pc()) or "") or "?"
    return f"{short(frame.name() or hex(frame.pc()))} ({place})"


def arguments(frame):
    try:
        block = frame.block()
        while block.function is None:
            block = block.superblock
        names = [symbol for symbol in block if symbol.is_argument]
    except RuntimeError:  # no debug information
        return ""
    shown = (f"{symbol.name}={symbol.value(frame).format_string(summary=True, max_elements=20)}" for symbol in names)
    return ", ".join(shown)


def backtrace():
    frame, number, text = gdb.newest_frame(), 0, ""
    while frame is not None and number < 40:
        text += f"#{number:<2} {location(frame)}  {arguments(frame)}".rstrip() + "\n"
        frame, number = frame.older(), number + 1
    return text


def go_quietly(command):
    gdb.execute(command, to_string=True)


# Where the answers of queries go, and what went wrong. gdb reports its stops on standard output whoever asks for
# them, and what the program wrote on the other one.
answers = complaints = None


def visible(text):
    """Names in a recording are anybody's bytes: none of them moves the cursor or turns text around. Lines stay."""
    return "".join(c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def say(text):
    try:
        answers.write(text)
        answers.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # gdb would print the error and go on: nobody sees the rest of the answers.
        complain(f"cannot write to standard output: {error.strerror}")
        os._exit(125)


def complain(text):
    try:
        complaints.write(visible(text if text.startswith("rdb: ") else "rdb: " + text) + "\n")
        complaints.flush()
    except OSError:
        pass  # nobody can be told; the exit status still says it


def set_aside(descriptor):
    """A file for what the descriptor is; gdb's own writes to it go nowhere from here on."""
    kept = os.fdopen(os.dup(descriptor), "w", encoding="utf-8", errors="replace")
    nowhere = os.open("/dev/null", os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return kept


# gdb's exit status for a whole answer. It is not 0, since gdb ends with 0 as well when something ends it (SIGTERM).
# rdbtool/cli/gdb_process.cc expects this number.
ANSWERED = 10
# When the script has said why there is no answer, and when that is left to the process that serves the recording.
COMPLAINED = 2
FAILED = 11


class Query(gdb.Command):
    """A command that `rdb` itself runs, without a user: errors end gdb with one line."""

    def __init__(self, name, answer, is_last=True):
        self.answer = answer
        self.is_last = is_last
        super().__init__(name, gdb.COMMAND_OBSCURE)

    def invoke(self, argument, from_tty):
        try:
            self.answer(*gdb.string_to_argv(argument))
        except BrokenPipeError:
            pass  # nobody reads the rest
        except Exception as error:  # whatever it is, the user sees one line
            if self.is_last and has_failed():
                gdb.execute(f"quit {FAILED}")
            complain(str(error).strip())
            gdb.execute(f"quit {COMPLAINED}")
        if self.is_last:
            gdb.execute(f"quit {ANSWERED}")


def go_to_place(at):
    """To a position; or to the last time that a line was reached."""
    if ":" not in at:
        go_quietly("goto " + at)
        return
    go_quietly("goto end")
    point = gdb.Breakpoint(at, internal=True)
    if point.pending:
        raise gdb.error(f"there is no {at} in the program, or it was compiled without -g")
    go_quietly("reverse-continue")
    if point.hit_count == 0:
        raise gdb.error(f"{at} was never reached")
    point.delete()


def answer_last_write(expression, at):
    go_to_place(at)
    address, value_type = place_of(expression)
    go_quietly(f"last-write {expression}")
    time, thread = where()
    place = location(gdb.newest_frame())
    before = value_at(address, value_type)
    trace = backtrace()
    gdb.execute("stepi", to_string=True)
    after = value_at(address, value_type)
    say(visible(f"{time}  thread {thread}  {place}  {expression}: {before} -> {after}\n{trace}"))


def run_on():
    """Where the replay fails, gdb stops somewhere, and would go on from there."""
    gdb.execute("continue")
    if has_failed():
        raise gdb.error("the replay has failed")


class Hits(gdb.Breakpoint):
    """Prints the value each time, and never stops."""

    def __init__(self, place, expression, changes):
        super().__init__(place, internal=True)
        self.shown = expression
        self.only_changes = changes
        self.last = None
        self.hits = 0
        self.mistake = None

    def stop(self):
        self.hits += 1
        try:
            text = self.value()
        except gdb.error as error:  # it will be wrong every time
            self.mistake = error
            return True
        if not self.only_changes or text != self.last:
            time, thread = where()
            say(visible(f"{time:>12}  thread {thread}  {location(gdb.newest_frame())}  {text}\n"))
        self.last = text
        return False

    def value(self):
        try:
            return gdb.parse_and_eval(self.shown).format_string(max_elements=40)
        except gdb.MemoryError as error:
            return unreadable(error)


def answer_history(expression, place, how):
    hits = Hits(place, expression, how == "changes")
    if hits.pending:
        # In a library that is loaded later, or nowhere: the end of the recording tells.
        go_quietly("goto end")
        if hits.pending:
            raise gdb.error(f"there is no {place} in the program, or it was compiled without -g")
        go_quietly("goto start")
    before = None
    while before != (before := where()) and hits.mistake is None:
        run_on()
    if hits.mistake is not None:
        raise hits.mistake
    if hits.hits == 0:
        raise gdb.error(f"{place} was never reached")


def is_string(value_type):
    """A pointer to characters: shown by them, without its address."""
    bare = value_type.strip_typedefs()
    return (bare.code == gdb.TYPE_CODE_PTR and bare.target().strip_typedefs().code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR)
            and bare.target().sizeof == 1)


def text_of(expression):
    value = gdb.parse_and_eval(expression)
    return value.format_string(max_elements=200, address=not is_string(value.type))


def frame_of_line(line):
    """Where functions are inlined, several are at the same instruction: the one that has the line."""
    best = frame = gdb.newest_frame()
    best_line = -1
    while frame is not None:
        function = frame.function()
        if function is not None and best_line < function.line <= line:
            best, best_line = frame, function.line
        if frame.type() != gdb.INLINE_FRAME:
            break
        frame = frame.older()
    return best


class Print(gdb.Breakpoint):
    """Tells the values at a place as a debug region of `rdb print` does, and never stops."""

    MISTAKES = ("No symbol", "A syntax error", "Attempt to", "There is no member", "Invalid")

    def __init__(self, place, question):
        self.place = place
        self.question = question
        self.hits = self.shown = 0
        where_to = place["file"].lstrip("@") if place["line"] == 0 else f"{place['file']}:{place['line']}"
        super().__init__(where_to, internal=True)

    def stop(self):
        time, thread = where()
        time = int(time)
        if self.question["from"] and time < int(self.question["from"]):
            return False
        if self.question["to"] and time > int(self.question["to"]):
            return True
        self.hits += 1
        if self.place["line"] > 0:
            frame_of_line(self.place["line"]).select()
        try:
            if self.question["if"] and not self.value("if", self.question["if"], lambda text: bool(gdb.parse_and_eval(text))):
                return False
            text = self.text()
        except (gdb.GdbError, gdb.error) as error:
            self.question["error"] = str(error)
            return True
        say(f"[{time} {thread} {self.place['file']}:{self.place['line']}] \x1e{text}\n")
        self.shown += 1
        if self.shown >= self.question["most"]:
            self.enabled = False
        return False

    def text(self):
        if "format" in self.place:
            return self.value("format", self.place["format"], lambda text: output_of("printf " + text))
        return "".join(f"\x1f{expression}\x1f{self.value('expression', expression, text_of)}" for expression in self.place["expressions"])

    def value(self, kind, text, evaluate):
        """What cannot be had here is shown as that; what can never be had is the user's mistake."""
        try:
            return evaluate(text)
        except gdb.error as error:
            if not isinstance(error, gdb.MemoryError) and self.is_mistake(kind, str(error)):
                raise gdb.GdbError(f"print: {self.place['file']}: '{text}': {error}") from error
            shown = "<not available here>" if str(error).startswith("No symbol") else unreadable(error)
            return False if kind == "if" else shown

    def is_mistake(self, kind, error):
        missing = re.match(r'No symbol "(.*)" in', error)
        if missing and missing.group(1) in self.place["names"]:
            return False
        return kind == "format" or error.startswith(self.MISTAKES) or "unknown type" in error


def answer_print(question):
    question = json.loads(question)
    points = [Print(place, question) for place in question["places"]]
    if any(point.pending for point in points):
        go_quietly("goto end")
        for point in points:
            if point.pending:
                raise gdb.error(f"print: there is no {point.location} in what was recorded, or it was compiled without -g")
        go_quietly("goto start")
    if question["from"]:
        go_quietly("goto " + question["from"])
    before = None
    while before != (before := where()) and any(point.enabled for point in points):
        run_on()
        if "error" in question:
            raise gdb.error(question["error"])
        if question["to"] and int(where()[0]) > int(question["to"]):
            break


def connect(address):
    global answers, complaints
    answers, complaints = set_aside(1), set_aside(2)
    for setting in ("confirm off", "pagination off", "width 0", "print inferior-events off", "breakpoint pending on",
                    "breakpoint always-inserted on", "print entry-values no", "debuginfod enabled off",
                    "suppress-cli-notifications on"):
        gdb.execute("set " + setting)
    gdb.execute("target remote " + address, to_string=True)
    gdb.execute("handle all nostop noprint pass", to_string=True)


Query("rdb-connect", connect, is_last=False)
Query("rdb-last-write", answer_last_write)
Query("rdb-history", answer_history)
Query("rdb-print", answer_print)


def load_printers(event):
    """A library's printers are found by its path; the recorded copy has another. And where gdb runs no scripts of
    recorded files, those that the machine itself has for its libraries are still wanted."""
    root = gdb.parameter("sysroot")
    name = event.new_objfile.filename or ""
    if not root or gdb.parameter("auto-load python-scripts") or not name.startswith(root):
        return
    path = "/" + name[len(root):].lstrip("/")
    script = "/usr/share/gdb/auto-load" + path + "-gdb.py"
    real = "/usr/share/gdb/auto-load" + os.path.realpath(path) + "-gdb.py"
    for path in (script, real):
        if os.path.exists(path):
            # Where a library's script finds its modules it works out from the library's path.
            with open(path, encoding="utf-8") as text:
                found = re.search(r"^pythondir *= *'([^']+)'", text.read(), re.MULTILINE)
            if found and found[1] not in sys.path:
                sys.path.insert(0, found[1])
            gdb.execute("source " + path)
            return


gdb.events.new_objfile.connect(load_printers)
