package cut

import (
	"bufio"
	"net"
	"testing"
	"time"
)

// echo answers every line with itself.
func echo(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lis.Close() })
	go func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					if _, err := c.Write(append(lines.Bytes(), '\n')); err != nil {
						return
					}
				}
			}()
		}
	}()
	return lis.Addr().String()
}

// ask says a line and tells whether it came back.
func ask(c net.Conn, wait time.Duration) error {
	if err := c.SetDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("hello\n")); err != nil {
		return err
	}
	_, err := c.Read(make([]byte, 16))
	return err
}

func dial(t *testing.T, w *Wire) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", w.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestAWireIsCutMutedAndMended(t *testing.T) {
	t.Parallel()
	w := New(t, echo(t))
	first := dial(t, w)
	if err := ask(first, time.Minute); err != nil {
		t.Fatalf("a whole wire does not pass: %v", err)
	}
	w.Cut()
	if err := ask(first, time.Minute); err == nil {
		t.Fatal("a connection goes on after the cut")
	}
	if c, err := net.Dial("tcp", w.Addr()); err == nil {
		_ = c.Close()
		t.Fatal("a cut wire takes a connection")
	}
	w.Mend(t)
	second := dial(t, w)
	if err := ask(second, time.Minute); err != nil {
		t.Fatalf("a mended wire does not pass: %v", err)
	}
	w.Mute()
	if err := ask(second, 20*time.Millisecond); err == nil {
		t.Fatal("a mute wire answers")
	}
	w.Mend(t)
	if err := ask(dial(t, w), time.Minute); err != nil {
		t.Fatalf("a wire that was mute does not pass: %v", err)
	}
}
