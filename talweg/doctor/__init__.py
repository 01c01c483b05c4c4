"""The doctor: reads tapes, graphs and traces, changes nothing, and says what is wrong and where."""
