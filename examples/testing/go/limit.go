// Package example limits the memory of the calling process.
package example

import (
	"os"
	"path/filepath"
	"strconv"
)

const root = "/sys/fs/cgroup"

// LimitMemory moves this process into a new cgroup that may use so many bytes.
func LimitMemory(name string, bytes int64) error {
	group, file := filepath.Join(root, name), "memory.max"
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err != nil {
		group, file = filepath.Join(root, "memory", name), "memory.limit_in_bytes"
	} else if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+memory"), 0); err != nil {
		return err
	}
	if err := os.Mkdir(group, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(group, file), []byte(strconv.FormatInt(bytes, 10)), 0); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
}
