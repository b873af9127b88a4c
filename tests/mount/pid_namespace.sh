# In the root of a hierarchy: what a process in an inner pid namespace reads and writes of a cgroup.
threads=cgroup.threads; [ -e tasks ] && threads=tasks
mkdir inner
sleep 100 & outer=$!
echo $outer >inner/cgroup.procs
unshare -pf --mount-proc sh -c "
    show() { sort -n \$1 | tr '\n' ' '; echo; }
    echo 0 >inner/cgroup.procs; sleep 100 & show inner/cgroup.procs; show inner/$threads
    echo 1 >cgroup.procs; echo 2 >inner/cgroup.procs; show inner/cgroup.procs
    echo $outer >cgroup.procs || echo none; echo 2000000000 >cgroup.procs || echo none
" 2>/dev/null
kill $outer; wait $outer 2>/dev/null
for i in $(seq 100); do rmdir inner 2>/dev/null && break; sleep 0.05; done
