//! Limits the number of processes of a cgroup.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup";

/// Makes the cgroup `name`, which may have so many processes; returns its directory.
pub fn limit_processes(name: &str, most: i64) -> io::Result<PathBuf> {
    let root = Path::new(ROOT);
    let group = if root.join("cgroup.controllers").exists() {
        fs::write(root.join("cgroup.subtree_control"), "+pids")?;
        root.join(name)
    } else {
        root.join("pids").join(name)
    };
    fs::create_dir(&group)?;
    fs::write(group.join("pids.max"), most.to_string())?;
    Ok(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Outside of `fakecgroup run`, these tests would change this machine's own cgroups.
    fn is_fake() -> bool {
        std::env::var_os("FAKECGROUP").is_some()
    }

    #[test]
    fn the_limit_is_in_force() {
        if !is_fake() {
            return;
        }
        let group = limit_processes("app", 64).unwrap();
        assert_eq!(fs::read_to_string(group.join("pids.max")).unwrap(), "64\n");
        fs::write(group.join("cgroup.procs"), std::process::id().to_string()).unwrap();
        assert!(fs::read_to_string("/proc/self/cgroup").unwrap().contains(":/app\n"));
    }

    #[test]
    fn a_negative_limit_is_refused() {
        if !is_fake() {
            return;
        }
        let refused = limit_processes("other", -1).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(22)); // EINVAL
    }
}
