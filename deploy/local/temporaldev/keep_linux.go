package main

import "syscall"

// keep binds a port, any for 0, without listening on it, for as long as the process lives or until end is called: Linux gives it to
// nobody who does not ask for that very one, and lets a server listen on it. It returns the port it was given where that fails.
func keep(port int) (kept int, end func()) {
	nothing := func() {}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return port, nothing
	}
	end = func() { _ = syscall.Close(fd) }
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		end()
		return port, nothing
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		end()
		return port, nothing
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		end()
		return port, nothing
	}
	return name.(*syscall.SockaddrInet4).Port, end
}
