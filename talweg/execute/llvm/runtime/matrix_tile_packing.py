"""Routines that put matrices into the order of matrix registers: `tile_rows`, `tile_columns`.

`matrix_tiles.py` says which order that is, and how float16 numbers are split into two terms.
"""

from __future__ import annotations

COUNT = 16  # rows of a register, and words in a row


def text() -> str:
    """Return the text of the routines that pack, of bfloat16 and of float16."""
    parts = [_DECLARED]
    for split in (0, 1):
        parts += [_packer(i, j, split) for i in (0, 1) for j in (0, 1)]
        parts += [with_terms(part, split) for part in (_ROWS, _COLUMNS)]
    return "\n".join(parts)


def with_terms(text: str, split: int) -> str:
    """Return a routine's text for numbers of one term, or split into two.

    $ROW and $STEP are the logarithms of the bytes of a step, in a row and in all.
    """
    words = (_SPLIT, "64", "2048") if split else ("", "0", "0")
    for name, word in zip(("$SPLIT", "$ROW.APART", "$COLUMN.APART"), words):
        text = text.replace(name, word)
    return text.replace("$ROW", str(6 + split)).replace("$STEP", str(11 + split))


def _packer(strided: int, transposed: int, split: int) -> str:
    """Return the packing of one register's 16 x 16 words; `strided`: pairs span two rows.

    `others` and `ks` are how many numbers there are in both directions; 16 and 32 are taken.  If
    they are `split`, their second terms go to another register's words, `apart` from the first.
    """
    name = f"{_SPLIT if split else ''}pack{strided}{transposed}"
    lines = [
        f"define private void @{name}(ptr %from, i64 %step, i64 %others, "
        "i64 %ks, ptr %to, i64 %to.step, i64 %apart) {",
        "  %lanes = call i64 @limited(i64 %" + ("others, i64 16)" if strided else "ks, i64 32)"),
    ]
    width = 16 if strided else 32
    numbers = ", ".join([f"i64 {i}" for i in range(width)])
    lines += [
        f"  %one = insertelement <{width} x i64> poison, i64 %lanes, i64 0",
        f"  %all = shufflevector <{width} x i64> %one, <{width} x i64> poison, "
        f"<{width} x i32> zeroinitializer",
        f"  %mask = icmp slt <{width} x i64> <{numbers}>, %all",
    ]
    rows = 2 * COUNT if strided else COUNT
    for row in range(rows):
        lines += _load_row(row, width, "ks" if strided else "others", split)
        if split:
            lines += _split_row(row, width)
    lines.append("  %to.second = getelementptr i8, ptr %to, i64 %apart")
    for term, start in (("r", "%to"), ("s", "%to.second"))[: 1 + split]:
        _store_words(lines, strided, transposed, term, start)
    return "\n".join([*lines, "  ret void", "}"])


def _split_row(row: int, width: int) -> list[str]:
    """Emit the two terms of a row's numbers, `r` and `s`; those of infinity and NaN are both it."""
    wide, words, short = f"<{width} x float>", f"<{width} x i32>", f"<{width} x i16>"
    return [
        f"  %half{row} = bitcast {short} %l{row} to <{width} x half>",
        f"  %x{row} = fpext <{width} x half> %half{row} to {wide}",
        f"  %less{row} = fmul {wide} %x{row}, splat (float {_BELOW})",
        f"  %bits{row} = bitcast {wide} %less{row} to {words}",
        f"  %cut{row} = and {words} %bits{row}, splat (i32 -65536)",
        f"  %first{row} = bitcast {words} %cut{row} to {wide}",
        f"  %rest{row} = fsub {wide} %x{row}, %first{row}",
        f"  %absent{row} = fcmp uno {wide} %rest{row}, %rest{row}",
        f"  %second{row} = select <{width} x i1> %absent{row}, {wide} %x{row}, {wide} %rest{row}",
        f"  %more{row} = bitcast {wide} %second{row} to {words}",
        f"  %upper{row} = lshr {words} %bits{row}, splat (i32 16)",
        f"  %lower{row} = lshr {words} %more{row}, splat (i32 16)",
        f"  %r{row} = trunc {words} %upper{row} to {short}",
        f"  %s{row} = trunc {words} %lower{row} to {short}",
    ]


def _store_words(lines: list[str], strided: int, transposed: int, term: str, start: str) -> None:
    """Emit the words of a term's rows, transposed or not, and their stores."""
    for row in range(COUNT):
        if strided:
            low, high, name = f"%{term}{2 * row}", f"%{term}{2 * row + 1}", f"{term}.{row}"
            lines += [
                f"  %low.{name} = zext <16 x i16> {low} to <16 x i32>",
                f"  %wide.{name} = zext <16 x i16> {high} to <16 x i32>",
                f"  %high.{name} = shl <16 x i32> %wide.{name}, splat (i32 16)",
                f"  %v0.{name} = or <16 x i32> %low.{name}, %high.{name}",
            ]
        else:
            lines.append(f"  %v0.{term}.{row} = bitcast <32 x i16> %{term}{row} to <16 x i32>")
    stage = _transpose_words(lines, term) if transposed else 0
    for row in range(COUNT):
        lines += [
            f"  %o.{term}.{row} = mul i64 %to.step, {row}",
            f"  %t.{term}.{row} = getelementptr i8, ptr {start}, i64 %o.{term}.{row}",
            f"  store <16 x i32> %v{stage}.{term}.{row}, ptr %t.{term}.{row}, align 4",
        ]


def _load_row(row: int, width: int, limit: str, split: int) -> list[str]:
    """Emit the load of a row, of zeros where it is absent."""
    kind = f"<{width} x i16>"
    return [
        f"  %there{row} = icmp sgt i64 %{limit}, {row}",
        f"  %m{row} = select i1 %there{row}, <{width} x i1> %mask, <{width} x i1> zeroinitializer",
        f"  %f{row} = mul i64 %step, {row}",
        f"  %a{row} = getelementptr i8, ptr %from, i64 %f{row}",
        f"  %{'l' if split else 'r'}{row} = call {kind} @llvm.masked.load.v{width}i16.p0("
        f"ptr align 2 %a{row}, <{width} x i1> %m{row}, {kind} zeroinitializer)",
    ]


def _transpose_words(lines: list[str], term: str) -> int:
    """Return the transpose of 16 x 16 words: halves change places, then quarters, and so on."""
    stage, distance = 0, COUNT // 2
    while distance:
        for row in range(COUNT):
            if row & distance:
                continue
            first, second = [f"%v{stage}.{term}.{i}" for i in (row, row + distance)]
            for target, high in ((row, 0), (row + distance, distance)):
                mask = [
                    (lane & ~distance | high) + (COUNT if lane & distance else 0)
                    for lane in range(COUNT)
                ]
                order = ", ".join([f"i32 {source}" for source in mask])
                lines.append(
                    f"  %v{stage + 1}.{term}.{target} = shufflevector <16 x i32> {first}, "
                    f"<16 x i32> {second}, <16 x i32> <{order}>"
                )
        stage, distance = stage + 1, distance // 2
    return stage


_SPLIT = "split_"
_BELOW = "0x3FEFF00000000000"  # 1 - 2^-9

_DECLARED = """
declare <16 x i16> @llvm.masked.load.v16i16.p0(ptr, <16 x i1>, <16 x i16>)
declare <32 x i16> @llvm.masked.load.v32i16.p0(ptr, <32 x i1>, <32 x i16>)
declare i64 @llvm.smin.i64(i64, i64)

define private i64 @limited(i64 %count, i64 %most) alwaysinline {
  %found = call i64 @llvm.smin.i64(i64 %count, i64 %most)
  ret i64 %found
}

define private i64 @pieces(i64 %count) alwaysinline {
  %more = add i64 %count, 31
  %found = lshr i64 %more, 5
  ret i64 %found
}
"""

_ROWS = """
define void @talweg_tile_$SPLITrows_bfloat16(i64 %turned, i64 %rows, i64 %k, ptr %x, i64 %x.step,
    ptr %out) {
entry:
  %steps = call i64 @pieces(i64 %k)
  %blocks = call i64 @pieces(i64 %rows)
  %groups = shl i64 %blocks, 1
  %is.turned = icmp ne i64 %turned, 0
  %step = shl i64 %x.step, 1
  %by.group = select i1 %is.turned, i64 32, i64 %step
  %by.step = select i1 %is.turned, i64 %step, i64 2
  %to.step = shl i64 %steps, $ROW
  br label %group
group:
  %g = phi i64 [0, %entry], [%g.next, %group.end]
  %first = shl i64 %g, 4
  %others = sub i64 %rows, %first
  %from.row = mul i64 %first, %step
  %from.column = shl i64 %first, 1
  %from.group = select i1 %is.turned, i64 %from.column, i64 %from.row
  %to.group = mul i64 %first, %to.step
  br label %step.begin
step.begin:
  %s = phi i64 [0, %group], [%s.next, %step.end]
  %k.first = shl i64 %s, 5
  %ks = sub i64 %k, %k.first
  %from.k = mul i64 %k.first, %by.step
  %from.at = add i64 %from.group, %from.k
  %from = getelementptr i8, ptr %x, i64 %from.at
  %to.k = shl i64 %s, $ROW
  %to.at = add i64 %to.group, %to.k
  %to = getelementptr i8, ptr %out, i64 %to.at
  br i1 %is.turned, label %other, label %straight
straight:
  call void @$SPLITpack00(ptr %from, i64 %step, i64 %others, i64 %ks, ptr %to,
    i64 %to.step, i64 $ROW.APART)
  br label %step.end
other:
  call void @$SPLITpack11(ptr %from, i64 %step, i64 %others, i64 %ks, ptr %to,
    i64 %to.step, i64 $ROW.APART)
  br label %step.end
step.end:
  %s.next = add i64 %s, 1
  %more.steps = icmp ult i64 %s.next, %steps
  br i1 %more.steps, label %step.begin, label %group.end
group.end:
  %g.next = add i64 %g, 1
  %more.groups = icmp ult i64 %g.next, %groups
  br i1 %more.groups, label %group, label %done
done:
  ret void
}
"""

_COLUMNS = """
define void @talweg_tile_$SPLITcolumns_bfloat16(i64 %turned, i64 %k, i64 %n, ptr %y, i64 %y.step,
    ptr %out) {
entry:
  %steps = call i64 @pieces(i64 %k)
  %panels = call i64 @pieces(i64 %n)
  %is.turned = icmp ne i64 %turned, 0
  %step = shl i64 %y.step, 1
  %by.column = select i1 %is.turned, i64 %step, i64 2
  %by.k = select i1 %is.turned, i64 2, i64 %step
  br label %panel
panel:
  %p = phi i64 [0, %entry], [%p.next, %panel.end]
  %to.panel = mul i64 %p, %steps
  br label %step.begin
step.begin:
  %s = phi i64 [0, %panel], [%s.next, %step.end]
  %k.first = shl i64 %s, 5
  %ks = sub i64 %k, %k.first
  %from.k = mul i64 %k.first, %by.k
  %to.number = add i64 %to.panel, %s
  %to.step = shl i64 %to.number, $STEP
  br label %half
half:
  %h = phi i64 [0, %step.begin], [1, %half.end]
  %p.first = shl i64 %p, 5
  %h.first = shl i64 %h, 4
  %first = add i64 %p.first, %h.first
  %others = sub i64 %n, %first
  %from.column = mul i64 %first, %by.column
  %from.at = add i64 %from.k, %from.column
  %from = getelementptr i8, ptr %y, i64 %from.at
  %to.half = shl i64 %h, 6
  %to.at = add i64 %to.step, %to.half
  %to = getelementptr i8, ptr %out, i64 %to.at
  br i1 %is.turned, label %other, label %straight
straight:
  call void @$SPLITpack10(ptr %from, i64 %step, i64 %others, i64 %ks, ptr %to,
    i64 128, i64 $COLUMN.APART)
  br label %half.end
other:
  call void @$SPLITpack01(ptr %from, i64 %step, i64 %others, i64 %ks, ptr %to,
    i64 128, i64 $COLUMN.APART)
  br label %half.end
half.end:
  %more.halves = icmp eq i64 %h, 0
  br i1 %more.halves, label %half, label %step.end
step.end:
  %s.next = add i64 %s, 1
  %more.steps = icmp ult i64 %s.next, %steps
  br i1 %more.steps, label %step.begin, label %panel.end
panel.end:
  %p.next = add i64 %p, 1
  %more.panels = icmp ult i64 %p.next, %panels
  br i1 %more.panels, label %panel, label %done
done:
  ret void
}
"""
