"""The model of a picture: items (operations, inputs, variables), in groups, with edges.

Groups are name scopes, the bodies of branches and loops, and called functions.  Small constants are
written into what uses them; parts of results, and what only makes an operation wait, are no items.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talweg.core.provenance import Derived, describe
from talweg.core.roles import Role
from talweg.graph.handle import Handle
from talweg.graph.names import default_name, type_of
from talweg.graph.node import READ, Content, Node
from talweg.graph.subgraph import Body
from talweg.graph.text import type_text
from talweg.graph.walk import schedule
from talweg.prims import arithmetic

if TYPE_CHECKING:
    from talweg.eager.variable import Variable
    from talweg.trace.concrete import ConcreteFunction

SMALL = 4  # elements of a constant that is written into its users
MANY = 20_000  # items of a picture
LONGEST = 30  # letters of a label
FOLDERS = re.compile(r"^.*[\\/]")  # of a path, also one of Windows
CROWD = 30  # items outside of scopes that are grouped by the lines that made them
ALIKE = 8  # items of one line that make a group
# nodes that are no operations of their own
PASSED_ON = frozenset((Role.PROJECTION, Role.ORDER, Role.SIZE))
DIFFERENTLY_SHOWN = frozenset(("variable", "value", "seeds"))  # parameters


@dataclass(eq=False)
class Group:
    """Items that belong together, and can be folded into one box."""

    title: str
    kind: str = "scope"  # scope, body, function
    parent: Group | None = None
    members: list[Any] = field(default_factory=list)  # items and groups, as they were made

    def above(self) -> list[Group]:
        """Return the groups around it, the outermost first, itself last."""
        found: list[Any] = []
        group: Any = self
        while group is not None:
            found.append(group)
            group = group.parent
        return found[::-1]

    def items(self) -> list[DrawnItem]:
        """Return the items in it, however deep."""
        found: list[DrawnItem] = []
        pending: list[Any] = [self]
        while pending:
            for member in pending.pop().members:
                if isinstance(member, Group):
                    pending.append(member)
                else:
                    found.append(member)
        return found

    def count(self) -> int:
        """Count the items in the group, however deep."""
        return len(self.items())

    def leading_kind(self) -> str:
        """Return the kind of most of its items if they are derivatives or variables, which a folded
        group has the colour of; else "".
        """
        kinds = [item.kind for item in self.items() if item.kind != "constant"]
        most = max(sorted(set(kinds)), key=kinds.count, default="")
        is_most = 2 * kinds.count(most) > len(kinds)
        return most if is_most and most in ("gradient", "variable") else ""

    def groups(self) -> list[Group]:
        """Return the groups directly in it."""
        return [member for member in self.members if isinstance(member, Group)]


@dataclass(eq=False)
class DrawnItem:
    """A box of the picture."""

    label: str
    kind: str  # operation, effect, gradient, input, variable, constant
    shape: str = ""
    name: str = ""
    line: str = ""
    details: str = ""
    parent: Group | None = None
    is_result: bool = False
    number: int = 0  # among the items of its picture


@dataclass(eq=False)
class Picture:
    """A graph to be drawn."""

    title: str
    root: Group
    items: list[DrawnItem] = field(default_factory=list)
    edges: dict[tuple[DrawnItem, DrawnItem], str] = field(
        default_factory=dict
    )  # -> what flows, or "control"
    left_out: int = 0  # nodes beyond `MANY`

    def add(self, item: DrawnItem, group: Group) -> DrawnItem:
        """Put an item into a group."""
        item.parent, item.number = group, len(self.items)
        item.label = shorten(item.label)
        group.members.append(item)
        self.items.append(item)
        return item

    def join(self, source: DrawnItem, target: DrawnItem, text: str) -> None:
        """Add an edge; one that carries a value goes before one that only makes wait."""
        if source is not target and self.edges.get((source, target)) in (None, "control"):
            self.edges[source, target] = text


def of_function(concrete: ConcreteFunction) -> Picture:
    """Return the picture of a trace of a `tf.function`."""
    body = concrete.body
    taken = concrete.captured_inputs
    names = [*concrete._argument_names, *[_name_of_captured(value) for value in taken]]
    kinds = ["input"] * (len(body.inputs) - len(taken)) + [
        "variable" if hasattr(value, "assign") else "input" for value in taken
    ]
    title = f"{concrete.name}({', '.join(concrete._argument_names)})"
    maker = _ModelMaker(Picture(title, Group(title, "function")))
    for node, name, kind in zip(body.inputs, names, kinds):
        maker.input(node, name, kind, maker.picture.root)
    maker.nodes(body.nodes, maker.picture.root)
    maker.results(body.outputs)
    settle(maker.picture)
    group_by_lines(maker.picture)
    return maker.picture


def of_graph(graph: Any, title: str = "graph", nodes: Iterable[Node] | None = None) -> Picture:
    """Return the picture of a `tf.Graph`;
    `nodes` are those to be shown, all that live if not given.
    """
    shown = list(graph.table.nodes.values()) if nodes is None else list(nodes)
    maker = _ModelMaker(Picture(title, Group(title, "function")))
    maker.nodes(schedule(shown), maker.picture.root)
    used = {source for node in maker.found for source in node.inputs}
    maker.results([node for node in maker.found if node not in used and node.inputs])
    group_by_lines(maker.picture)
    return maker.picture


def settle(picture: Picture) -> None:
    """Put each variable into the scope that holds all operations which use it.

    Derivatives and updates do not count as long as anything else uses it.
    """
    users: dict[DrawnItem, list[DrawnItem]] = {}
    for source, target in picture.edges:
        if source.kind == "variable" and source.parent is picture.root:
            users.setdefault(source, []).append(target)
    for item, targets in users.items():
        plain = [target for target in targets if target.kind not in ("gradient", "effect")]
        group = common([target.parent for target in plain or targets])
        if group is not None and group is not picture.root:
            picture.root.members.remove(item)
            group.members.insert(0, item)
            item.parent = group
            item.label = shorten(item.name.rpartition("/")[2])


def common(groups: list[Any]) -> Group | None:
    """Return the innermost scope around all groups."""
    paths = [group.above() for group in groups]
    found = None
    for level in zip(*paths):
        if any(group is not level[0] for group in level) or level[0].kind == "body":
            break
        found = level[0]
    return found


def group_by_lines(picture: Picture) -> None:
    """Gather what stands outside of all scopes, if it is a crowd, by the line that made it.

    Of what one line made, derivatives are a group inside.
    """
    root = picture.root
    loose = [member for member in root.members if isinstance(member, DrawnItem) and member.line]
    loose = [item for item in loose if item.kind not in ("input", "variable")]
    if len(loose) <= CROWD:
        return
    by_line: dict[str, list[DrawnItem]] = {}
    for item in loose:
        by_line.setdefault(item.line, []).append(item)
    for line, items in by_line.items():
        if len(items) >= ALIKE:
            line_text, _, source = line.partition(": ")
            title = source or FOLDERS.sub("", line_text)
            own = gather(
                items, Group(title if len(title) <= 48 else f"{title[:45]}...", "line", root)
            )
            derived = [item for item in items if item.kind == "gradient"]
            if ALIKE <= len(derived) < len(items):
                gather(derived, Group("derivatives", "line", own))


def gather(items: list[DrawnItem], group: Group) -> Group:
    """Put items of one group into a new group inside it, where the first of them stood."""
    before = group.parent
    assert before is not None
    chosen = set(items)
    place = next(i for i, member in enumerate(before.members) if member in chosen)
    kept = [member for member in before.members if member not in chosen]
    before.members[:] = [*kept[:place], group, *kept[place:]]
    for item in items:
        item.parent = group
    group.members.extend(items)
    return group


def of_body(body: Body, title: str) -> Picture:
    """Return the picture of a body that stands alone."""
    maker = _ModelMaker(Picture(title, Group(title, "function")))
    for place, node in enumerate(body.inputs):
        maker.input(node, f"argument {place}", "input", maker.picture.root)
    maker.nodes(body.nodes, maker.picture.root)
    maker.results(body.outputs)
    return maker.picture


def _name_of_captured(value: Variable) -> str:
    name = getattr(value, "name", None)
    return name.split(":")[0] if isinstance(name, str) else "captured"


class _ModelMaker:
    """Makes a picture, node by node."""

    def __init__(self, picture: Picture):
        self.picture = picture
        self.found: dict[Node, DrawnItem] = {}
        self.scopes: dict[tuple, Group] = {}

    # -- items

    def input(self, node: Node, name: str, kind: str, group: Group) -> DrawnItem:
        """Return a value from outside."""
        return self._add(node, DrawnItem(name, kind, _shape(node), name, _line(node)), group)

    def nodes(self, nodes: list[Node], group: Group) -> None:
        """Draw nodes in order, sources first."""
        for node in nodes:
            if node in self.found or (node.prim.role in PASSED_ON and node.inputs):
                continue
            if len(self.picture.items) >= MANY:
                self.picture.left_out += 1
            elif node.prim.role is Role.CONSTANT and is_small(node):
                continue
            elif bodies_of(node):
                self.with_bodies(node, group)
            else:
                self.plain(node, group)

    def plain(self, node: Node, group: Group) -> None:
        """Draw an operation."""
        name = name_of(node)
        inside = self.scope(name.rpartition("/")[0], group)
        label = label_of(node)
        item = DrawnItem(label, kind_of(node), _shape(node), name, _line(node), details_of(node))
        self._add(node, item, inside)
        self._edges(node, item)

    def with_bodies(self, node: Node, group: Group) -> None:
        """Draw a branch, loop or call: a group with its bodies, and its results."""
        name = name_of(node)
        outside = self.scope(name.rpartition("/")[0], group)
        own = Group(name.rpartition("/")[2], "body", outside)
        outside.members.append(own)
        item = DrawnItem(
            type_of(node), kind_of(node), _shape(node), name, _line(node), details_of(node)
        )
        bodies, operands = bodies_of(node), node.operands
        given = operands[len(operands) - max(len(body.inputs) for _, body in bodies) :]
        maps = []
        for title, body in bodies:
            part = Group(title, "body", own)
            own.members.append(part)
            maps.append(self.body(body, given, part))
        self._add(node, item, own)
        for outputs in maps:
            for output in outputs:
                self.picture.join(output, item, "")
        for operand in operands[: len(operands) - len(given)]:
            self._edge(operand, item)
        self._controls(node, item)

    def body(self, body: Body, given: tuple, group: Group) -> list[DrawnItem]:
        """Return the nodes of a body,
        which may stand in several places; the items of its results.
        """
        maker = _ModelMaker(self.picture)
        for place, (node, operand) in enumerate(zip(body.inputs, given)):
            source = self.item_of(operand)
            name = f"argument {place}" if source is None else source.label
            inner = maker.input(node, name, "input", group)
            if source is not None:
                self.picture.join(source, inner, _shape(node))
        maker.nodes(body.nodes, group)
        found = [maker.item_of(node) for node in (*body.outputs, *body.effects)]
        return [item for item in found if item is not None]

    def results(self, nodes: Iterable[Node]) -> None:
        """Mark the results of the graph."""
        for node in nodes:
            item = self.item_of(node)
            if item is not None:
                item.is_result = True

    # -- parts

    def _add(self, node: Node, item: DrawnItem, group: Group) -> DrawnItem:
        self.found[node] = self.picture.add(item, group)
        return item

    def _edges(self, node: Node, item: DrawnItem) -> None:
        waits = node.prim.effect == READ or node.prim.role in (Role.GROUP, Role.ACT)
        for operand in node.operands:
            self._edge(operand, item, "control" if waits else "")
        self._controls(node, item)

    def _controls(self, node: Node, item: DrawnItem) -> None:
        for control in node.table.controls.get(node, ()):
            self._edge(control, item, "control")

    def _edge(self, operand: Node, item: DrawnItem, text: str = "") -> None:
        """Add the edge from an operand, and the edges of control dependencies."""
        node = operand
        while node.prim.role in PASSED_ON and node.inputs:
            for control in node.inputs[1:] if node.prim.role is Role.ORDER else ():
                self._edge(control, item, "control")
            node = node.inputs[0]
        source = self.found.get(node)
        if source is not None:
            self.picture.join(source, item, text or _shape(operand))

    def item_of(self, node: Node) -> DrawnItem | None:
        """Return the item that shows a node's result; None if it is written into its users."""
        while node.prim.role in PASSED_ON and node.inputs:
            node = node.inputs[0]
        return self.found.get(node)

    def scope(self, path: str, group: Group) -> Group:
        """Return the group of a name scope inside `group`."""
        for part in path.split("/") if path else ():
            key = (group, part)
            found = self.scopes.get(key)
            if found is None:
                found = self.scopes[key] = Group(part, "scope", group)
                group.members.append(found)
            group = found
        return group


def shorten(label: str) -> str:
    """Return a label that fits into a box: long ones lose their middle."""
    return label if len(label) <= LONGEST else f"{label[:12]}…{label[13 - LONGEST :]}"


def bodies_of(node: Node) -> list[tuple[str, Body]]:
    """Return the bodies among a node's parameters, with their roles."""
    found = []
    for key, value in node.key[1]:
        if isinstance(value, Body):
            found.append((key, value))
        elif isinstance(value, tuple) and value and isinstance(value[0], Body):
            titles = ["then", "else"] if is_question(node) else [f"branch {i}" for i in range(99)]
            found += list(zip(titles, value))
    return found


def is_question(node: Node) -> bool:
    """Return whether a branch is a `tf.cond`: its index is 0 where the answer is yes."""
    index = node.operands[0]
    return index.prim is arithmetic.cast and index.operands[0].prim is arithmetic.logical_not


def is_small(node: Node) -> bool:
    """Return whether a constant is written into its users."""
    array = node.params["value"].array
    return array.size <= SMALL and not (array.dtype == object and len(repr(array.tolist())) > 24)


def name_of(node: Node) -> str:
    """Return the name of a node: its graph's, or the one a graph would give it."""
    graph = node.table.owner()
    if graph is not None:
        return graph.operation_name(node)
    return default_name(node)


def label_of(node: Node) -> str:
    """Return the label of a box: its operation, with small constants where they are used."""
    kind = type_of(node)
    variable = node.params.get("variable")
    if isinstance(variable, Handle):
        name = variable.name.split(":")[0]
        return name if node.prim.effect == READ else f"{kind} {name}"
    if node.prim.role is Role.CONSTANT:
        return "constant"
    if node.prim.role is Role.PLACEHOLDER:
        return name_of(node).rpartition("/")[2]
    operands = node.operands
    texts = [_literal(operand) for operand in operands]
    if any(texts) and len(texts) <= 4:
        return f"{kind}({', '.join(text or '·' for text in texts)})"
    return kind


def _literal(node: Node) -> str:
    while node.prim.role is Role.ORDER:
        node = node.inputs[0]
    if node.prim.role is not Role.CONSTANT or not is_small(node):
        return ""
    array = node.params["value"].array
    text = repr(array.tolist()) if array.dtype == object else f"{array.tolist()}"
    if array.dtype.kind in "fc" and array.ndim == 0:
        text = f"{array.item():.4g}"
    return text.replace(" ", "")


def kind_of(node: Node) -> str:
    """Return the kind of box of a node."""
    name = node.prim.name
    if name == "placeholder":
        return "input"
    if name == "constant":
        return "constant"
    if node.prim.effect == READ:
        return "variable"
    if type(node.origin) is Derived:
        return "gradient"
    return "effect" if node.serial is not None else "operation"


def details_of(node: Node) -> str:
    """Return the parameters, and the operation whose derivative the node is."""
    rows = [
        f"{key} = {_parameter(value)}"
        for key, value in node.key[1]
        if key not in DIFFERENTLY_SHOWN
        and not isinstance(value, (Body, Content))
        and not (type(value) is tuple and value and isinstance(value[0], Body))
    ]
    if node.prim.role is Role.CONSTANT:
        rows.append(repr(node.params["value"]))
    origin = node.origin
    if type(origin) is Derived:
        rows.append(f"from the derivative of {origin.prim.name}: {describe(origin.forward)}")
    return "\n".join(rows)


def _parameter(value: object) -> str:
    text = value.name if hasattr(value, "name") else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _shape(node: Node) -> str:
    aval = node.aval
    if type(aval) is tuple:
        shown = [part for part in aval if part.dtype.name != "variant"]
        return ", ".join(type_text(part) for part in shown[:3]) + (
            ", ..." if len(shown) > 3 else ""
        )
    return type_text(aval)


def _line(node: Node) -> str:
    return "" if node.origin is None else describe(node.origin)
