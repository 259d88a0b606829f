//go:build !linux

package main

// keep keeps nothing: elsewhere two sockets cannot share an address like this.
func keep(port int) (kept int, end func()) { return port, func() {} }
