//go:build !linux

package port

import "errors"

// bind holds nothing: elsewhere two sockets cannot share an address like this.
func bind() (addr string, end func(), err error) { return "", nil, errors.ErrUnsupported }
