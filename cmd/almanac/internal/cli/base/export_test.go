package base

import "io"

// Asking returns a session at whose terminal is a person.
func Asking(in io.Reader, out io.Writer) *Session { return &Session{In: in, Err: out, asks: true} }
