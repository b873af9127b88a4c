package example

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Outside of `fakecgroup run`, these tests would change this machine's own cgroups.
func TestMain(m *testing.M) {
	if os.Getenv("FAKECGROUP") == "" {
		fmt.Println("skipped: run with go test -exec 'fakecgroup run --'")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestTheProcessIsInItsCgroup(t *testing.T) {
	if err := LimitMemory("app", 512<<20); err != nil {
		t.Fatal(err)
	}
	where, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(where), ":/app\n") {
		t.Errorf("this process is in\n%s", where)
	}
}

func TestALimitThatIsNoneIsRefused(t *testing.T) {
	if err := LimitMemory("other", -2); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a limit of -2 bytes: %v", err)
	}
}
