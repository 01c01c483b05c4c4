"""The entry stub: the native side of a call from Python, as LLVM IR.

`talweg_entry` is the body of a builtin function (METH_FASTCALL) whose self is the address of what
is known of the program (`structures.ProgramCall`), and whose arguments are a list of inputs and one
of states.  It takes the first free execution context (`structures.ContextFields`); checks that
every argument is an ndarray of the dtype and shape that the program was made for, with its elements
in row-major order, or a NumPy scalar of the dtype where an input is one number; puts their
addresses into the context's table of buffers; makes the outputs; lets go of the GIL if the program
is worth it, and launches it.  It gives None where something is not as it should be or there is not
enough memory, False where a host call failed (the context then stays in use, until Python has
looked at it).
"""

from __future__ import annotations

from talweg.execute.llvm.runtime.structures import fill_offsets


def text() -> str:
    """Return the entry's module."""
    return fill_offsets(_TEXT)


_TEXT = """
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyList_Size(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare ptr @PyList_New(i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_Clear()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @talweg_launch(ptr)
declare ptr @talweg_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare ptr @talweg_set_handler(ptr)

define private ptr @pointer(ptr %base, i64 %offset) alwaysinline {
  %at = getelementptr i8, ptr %base, i64 %offset
  %found = load ptr, ptr %at, align 8
  ret ptr %found
}

define private i64 @number(ptr %base, i64 %offset) alwaysinline {
  %at = getelementptr i8, ptr %base, i64 %offset
  %found = load i64, ptr %at, align 8
  ret i64 %found
}

; whether an object is a list of %count items
define private i1 @is_list(ptr %program, ptr %object, i64 %count) alwaysinline {
entry:
  %type = call ptr @pointer(ptr %object, i64 $array.type$)
  %list = call ptr @pointer(ptr %program, i64 $program.list$)
  %same = icmp eq ptr %type, %list
  br i1 %same, label %measure, label %no
measure:
  %size = call i64 @PyList_Size(ptr %object)
  %fits = icmp eq i64 %size, %count
  ret i1 %fits
no:
  ret i1 false
}

; whether an object is an array as %value says
define private i1 @fits(ptr %program, ptr %array, ptr %value) {
entry:
  %type = call ptr @pointer(ptr %array, i64 $array.type$)
  %ndarray = call ptr @pointer(ptr %program, i64 $program.ndarray$)
  %is.array = icmp eq ptr %type, %ndarray
  br i1 %is.array, label %look, label %no
look:
  %flags.at = getelementptr i8, ptr %array, i64 $array.flags$
  %flags.32 = load i32, ptr %flags.at, align 4
  %flags = zext i32 %flags.32 to i64
  %needed = call i64 @number(ptr %value, i64 $check.flags$)
  %set = and i64 %flags, %needed
  %flags.fit = icmp eq i64 %set, %needed
  %descr = call ptr @pointer(ptr %array, i64 $array.descr$)
  %descr.needed = call ptr @pointer(ptr %value, i64 $check.descr$)
  %descr.fits = icmp eq ptr %descr, %descr.needed
  %ndim.at = getelementptr i8, ptr %array, i64 $array.ndim$
  %ndim.32 = load i32, ptr %ndim.at, align 4
  %ndim = zext i32 %ndim.32 to i64
  %ndim.needed = call i64 @number(ptr %value, i64 $check.ndim$)
  %ndim.fits = icmp eq i64 %ndim, %ndim.needed
  %both = and i1 %flags.fit, %descr.fits
  %all = and i1 %both, %ndim.fits
  br i1 %all, label %shape, label %no
shape:
  %dims = call ptr @pointer(ptr %array, i64 $array.dims$)
  %dims.needed = call ptr @pointer(ptr %value, i64 $check.dims$)
  br label %next
next:
  %i = phi i64 [0, %shape], [%i.next, %compare]
  %more = icmp ult i64 %i, %ndim
  br i1 %more, label %compare, label %yes
compare:
  %i.next = add i64 %i, 1
  %dim.at = getelementptr i64, ptr %dims, i64 %i
  %dim = load i64, ptr %dim.at, align 8
  %dim.needed.at = getelementptr i64, ptr %dims.needed, i64 %i
  %dim.needed = load i64, ptr %dim.needed.at, align 8
  %equal = icmp eq i64 %dim, %dim.needed
  br i1 %equal, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; put the arrays of a list into the context; %first: the number of the list's first argument
define private i1 @put(ptr %program, ptr %context, ptr %list, i64 %first, i64 %count) {
entry:
  %values = call ptr @pointer(ptr %program, i64 $program.arguments$)
  %buffers = call ptr @pointer(ptr %context, i64 $context.buffers$)
  %held = call ptr @pointer(ptr %context, i64 $context.held$)
  br label %next
next:
  %i = phi i64 [0, %entry], [%i.next, %keep]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %check, label %yes
check:
  %i.next = add i64 %i, 1
  %array = call ptr @PyList_GetItem(ptr %list, i64 %i)
  %argument = add i64 %first, %i
  %offset = mul i64 %argument, $check$
  %value = getelementptr i8, ptr %values, i64 %offset
  %good = call i1 @fits(ptr %program, ptr %array, ptr %value)
  br i1 %good, label %elements, label %try.scalar
elements:
  %begin = call ptr @pointer(ptr %array, i64 $array.data$)
  br label %keep
try.scalar:
  %type = call ptr @pointer(ptr %array, i64 $array.type$)
  %scalar.type = call ptr @pointer(ptr %value, i64 $check.scalar$)
  %is.scalar = icmp eq ptr %type, %scalar.type
  br i1 %is.scalar, label %scalar, label %no
scalar:
  %number = getelementptr i8, ptr %array, i64 $scalar.number$
  br label %keep
keep:
  %data = phi ptr [%begin, %elements], [%number, %scalar]
  %place = call i64 @number(ptr %value, i64 $check.number$)
  %buffer.at = getelementptr ptr, ptr %buffers, i64 %place
  store ptr %data, ptr %buffer.at, align 8
  %held.at = getelementptr ptr, ptr %held, i64 %argument
  store ptr %array, ptr %held.at, align 8
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; the list of new outputs, their memory from whom the program says
define private ptr @make_outputs(ptr %program, ptr %context) {
entry:
  %handler = call ptr @pointer(ptr %program, i64 $program.handler$)
  %usual = icmp eq ptr %handler, null
  br i1 %usual, label %plainly, label %set
plainly:
  %plain = call ptr @new_outputs(ptr %program, ptr %context)
  ret ptr %plain
set:
  %before = call ptr @talweg_set_handler(ptr %handler)
  %failed = icmp eq ptr %before, null
  br i1 %failed, label %fail, label %make
make:
  %list = call ptr @new_outputs(ptr %program, ptr %context)
  %no.list = icmp eq ptr %list, null
  br i1 %no.list, label %clear, label %back
clear:
  call void @PyErr_Clear()
  br label %back
back:
  %ours = call ptr @talweg_set_handler(ptr %before)
  call void @Py_DecRef(ptr %before)
  %lost = icmp eq ptr %ours, null
  br i1 %lost, label %done, label %drop
drop:
  call void @Py_DecRef(ptr %ours)
  br label %done
done:
  ret ptr %list
fail:
  ret ptr null
}

; the list of new outputs, null if there is not enough memory
define private ptr @new_outputs(ptr %program, ptr %context) {
entry:
  %count = call i64 @number(ptr %program, i64 $program.outputs$)
  %values = call ptr @pointer(ptr %program, i64 $program.results$)
  %ndarray = call ptr @pointer(ptr %program, i64 $program.ndarray$)
  %buffers = call ptr @pointer(ptr %context, i64 $context.buffers$)
  %list = call ptr @PyList_New(i64 %count)
  %none = icmp eq ptr %list, null
  br i1 %none, label %fail, label %next
next:
  %i = phi i64 [0, %entry], [%i.next, %keep]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %make, label %done
make:
  %i.next = add i64 %i, 1
  %offset = mul i64 %i, $check$
  %value = getelementptr i8, ptr %values, i64 %offset
  %descr = call ptr @pointer(ptr %value, i64 $check.descr$)
  %dims = call ptr @pointer(ptr %value, i64 $check.dims$)
  %ndim = call i64 @number(ptr %value, i64 $check.ndim$)
  %ndim.32 = trunc i64 %ndim to i32
  call void @Py_IncRef(ptr %descr)
  %array = call ptr @talweg_new_array(ptr %ndarray, ptr %descr, i32 %ndim.32, ptr %dims, ptr null,
    ptr null, i32 0, ptr null)
  %failed = icmp eq ptr %array, null
  br i1 %failed, label %drop, label %keep
keep:
  %set = call i32 @PyList_SetItem(ptr %list, i64 %i, ptr %array)
  %data = call ptr @pointer(ptr %array, i64 $array.data$)
  %place = call i64 @number(ptr %value, i64 $check.number$)
  %buffer.at = getelementptr ptr, ptr %buffers, i64 %place
  store ptr %data, ptr %buffer.at, align 8
  br label %next
drop:
  call void @Py_DecRef(ptr %list)
  br label %fail
fail:
  ret ptr null
done:
  ret ptr %list
}

; put the addresses of what lies within arguments and results into the context
define private void @place_parts(ptr %program, ptr %context) {
entry:
  %count = call i64 @number(ptr %program, i64 $program.part_count$)
  %parts = call ptr @pointer(ptr %program, i64 $program.parts$)
  %buffers = call ptr @pointer(ptr %context, i64 $context.buffers$)
  br label %next
next:
  %i = phi i64 [0, %entry], [%i.next, %place]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %place, label %done
place:
  %i.next = add i64 %i, 1
  %part.offset = mul i64 %i, $part$
  %part = getelementptr i8, ptr %parts, i64 %part.offset
  %here = call i64 @number(ptr %part, i64 $part.number$)
  %whole = call i64 @number(ptr %part, i64 $part.whole$)
  %offset = call i64 @number(ptr %part, i64 $part.offset$)
  %whole.at = getelementptr ptr, ptr %buffers, i64 %whole
  %base = load ptr, ptr %whole.at, align 8
  %address = getelementptr i8, ptr %base, i64 %offset
  %here.at = getelementptr ptr, ptr %buffers, i64 %here
  store ptr %address, ptr %here.at, align 8
  br label %next
done:
  ret void
}

; whether an input shares memory with a state: writing one would change the other
define private i1 @overlap(ptr %program, ptr %context, i64 %inputs, i64 %states) {
entry:
  %values = call ptr @pointer(ptr %program, i64 $program.arguments$)
  %bytes = call ptr @pointer(ptr %program, i64 $program.bytes$)
  %written = call ptr @pointer(ptr %program, i64 $program.written$)
  %buffers = call ptr @pointer(ptr %context, i64 $context.buffers$)
  br label %next.state
next.state:
  %s = phi i64 [0, %entry], [%s.next, %next.input], [%s.next, %look]
  %s.more = icmp ult i64 %s, %states
  br i1 %s.more, label %look, label %no
look:
  %s.next = add i64 %s, 1
  %written.at = getelementptr i64, ptr %written, i64 %s
  %s.written = load i64, ptr %written.at, align 8
  %changes = icmp ne i64 %s.written, 0
  br i1 %changes, label %state, label %next.state
state:
  %s.argument = add i64 %inputs, %s
  %s.begin = call i64 @begin(ptr %values, ptr %buffers, i64 %s.argument)
  %s.bytes.at = getelementptr i64, ptr %bytes, i64 %s.argument
  %s.bytes = load i64, ptr %s.bytes.at, align 8
  %s.end = add i64 %s.begin, %s.bytes
  br label %next.input
next.input:
  %i = phi i64 [0, %state], [%i.next, %input]
  %i.more = icmp ult i64 %i, %inputs
  br i1 %i.more, label %input, label %next.state
input:
  %i.next = add i64 %i, 1
  %i.begin = call i64 @begin(ptr %values, ptr %buffers, i64 %i)
  %i.bytes.at = getelementptr i64, ptr %bytes, i64 %i
  %i.bytes = load i64, ptr %i.bytes.at, align 8
  %i.end = add i64 %i.begin, %i.bytes
  %after = icmp ult i64 %s.begin, %i.end
  %before = icmp ult i64 %i.begin, %s.end
  %both = and i1 %after, %before
  br i1 %both, label %yes, label %next.input
yes:
  ret i1 true
no:
  ret i1 false
}

; the address of the elements of an argument
define private i64 @begin(ptr %values, ptr %buffers, i64 %argument) alwaysinline {
  %offset = mul i64 %argument, $check$
  %value = getelementptr i8, ptr %values, i64 %offset
  %place = call i64 @number(ptr %value, i64 $check.number$)
  %at = getelementptr ptr, ptr %buffers, i64 %place
  %data = load ptr, ptr %at, align 8
  %address = ptrtoint ptr %data to i64
  ret i64 %address
}

; hold the arguments while other Python code may run, or let go of them
define private void @hold(ptr %context, i64 %count, i1 %take) {
entry:
  %held = call ptr @pointer(ptr %context, i64 $context.held$)
  br label %next
next:
  %i = phi i64 [0, %entry], [%i.next, %step]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %choose, label %done
choose:
  %i.next = add i64 %i, 1
  %at = getelementptr ptr, ptr %held, i64 %i
  %object = load ptr, ptr %at, align 8
  br i1 %take, label %more.references, label %fewer.references
more.references:
  call void @Py_IncRef(ptr %object)
  br label %step
fewer.references:
  call void @Py_DecRef(ptr %object)
  br label %step
step:
  br label %next
done:
  ret void
}

define ptr @talweg_entry(ptr %self, ptr %arguments, i64 %count) {
entry:
  %program = call ptr @PyLong_AsVoidPtr(ptr %self)
  %two = icmp eq i64 %count, 2
  br i1 %two, label %lists, label %decline
lists:
  %done.at = getelementptr i8, ptr %program, i64 $program.done$
  store i64 0, ptr %done.at, align 8
  %inputs = call i64 @number(ptr %program, i64 $program.inputs$)
  %states = call i64 @number(ptr %program, i64 $program.states$)
  %all = add i64 %inputs, %states
  %inputs.list = load ptr, ptr %arguments, align 8
  %states.list = call ptr @pointer(ptr %arguments, i64 8)
  %inputs.good = call i1 @is_list(ptr %program, ptr %inputs.list, i64 %inputs)
  %states.good = call i1 @is_list(ptr %program, ptr %states.list, i64 %states)
  %good = and i1 %inputs.good, %states.good
  br i1 %good, label %search, label %decline
search:
  %from = phi ptr [%program, %lists], [%context.next.at, %used]
  %context = load ptr, ptr %from, align 8
  %context.next.at = getelementptr i8, ptr %context, i64 $context.next$
  %last = icmp eq ptr %context, null
  br i1 %last, label %decline, label %free
free:
  %busy = call i64 @number(ptr %context, i64 $context.busy$)
  %in.use = icmp ne i64 %busy, 0
  br i1 %in.use, label %used, label %fill
used:
  br label %search
fill:
  %busy.at = getelementptr i8, ptr %context, i64 $context.busy$
  store i64 1, ptr %busy.at, align 8
  store i32 0, ptr %context, align 4
  %inputs.put = call i1 @put(ptr %program, ptr %context, ptr %inputs.list, i64 0, i64 %inputs)
  br i1 %inputs.put, label %fill.states, label %free.context
fill.states:
  %states.put = call i1 @put(ptr %program, ptr %context, ptr %states.list, i64 %inputs, i64 %states)
  br i1 %states.put, label %compare, label %free.context
compare:
  %overlap = call i1 @overlap(ptr %program, ptr %context, i64 %inputs, i64 %states)
  br i1 %overlap, label %free.context, label %outputs
forget:
  call void @PyErr_Clear()
  call void @hold(ptr %context, i64 %all, i1 false)
  br label %free.context
free.context:
  store i64 0, ptr %busy.at, align 8
  br label %decline
outputs:                                          ; from here on Python code may run
  call void @hold(ptr %context, i64 %all, i1 true)
  %result = call ptr @make_outputs(ptr %program, ptr %context)
  %no.memory = icmp eq ptr %result, null
  br i1 %no.memory, label %forget, label %start
start:
  call void @place_parts(ptr %program, ptr %context)
  %release = call i64 @number(ptr %program, i64 $program.release$)
  %releases = icmp ne i64 %release, 0
  br i1 %releases, label %without, label %with
without:
  %state = call ptr @PyEval_SaveThread()
  call void @talweg_launch(ptr %context)
  call void @PyEval_RestoreThread(ptr %state)
  br label %judge
with:
  call void @talweg_launch(ptr %context)
  br label %judge
judge:
  call void @hold(ptr %context, i64 %all, i1 false)
  %failed = load i32, ptr %context, align 4
  %host.failed = icmp ne i32 %failed, 0
  br i1 %host.failed, label %fail, label %success
success:
  store i64 0, ptr %busy.at, align 8
  store i64 1, ptr %done.at, align 8
  ret ptr %result
fail:
  call void @Py_DecRef(ptr %result)
  %false = call ptr @pointer(ptr %program, i64 $program.false$)
  call void @Py_IncRef(ptr %false)
  ret ptr %false
decline:
  %none = call ptr @pointer(ptr %program, i64 $program.none$)
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}
"""
