#!/bin/bash
# In the guest: every way of recording, one line "NAME key=value..." a run in /mnt/results; traces and messages in /mnt/out.
T=/sys/kernel/tracing
mkdir -p /mnt/out; : > /mnt/results
probes() { grep -c wakeif $T/kprobe_events; }
done_with() { # NAME RC: keeps the trace and notes what is left behind
	local name=$1 rc=$2
	[ -f /data/$name.dat ] && mv /data/$name.dat /mnt/out/
	echo "$name rc=$rc probes=$(probes) tracing=$(cat $T/events/sched/sched_switch/enable)" >> /mnt/results
}
record() { # NAME arguments of wakeif record
	local name=$1; shift
	wakeif record -v -o /data/$name.dat "$@" > /mnt/out/$name.out 2> /mnt/out/$name.log
	done_with $name $?
}
load="hackbench -p -g 1 -f 4 -l 1000"
record stock -- sh -c "$load; exit 7"
record deep --deep -- $load
record probe --probe -- $load
record both --deep --probe -- sh -c "hackbench -p -g 1 -l 15; sleep 0.2; hackbench -T -g 1 -l 5"
record lost -b 4 -- hackbench -p -g 2 -l 40
record duration --duration 2
sleep 4 & record pid -p $!
record nomarkers --no-markers -C x86-tsc -- true
record user --user nobody -- sh -c 'id -u'
record nocommand -- /no/such/command
record extra -e irq:softirq_entry -- true
record killed -- sh -c 'kill -TERM $$'
# Ctrl-C as a terminal sends it: to the whole process group.
for how in group alone; do
	set -m
	wakeif record -v --probe -o /data/int-$how.dat > /mnt/out/int-$how.out 2> /mnt/out/int-$how.log & p=$!
	set +m
	for i in $(seq 1 60); do [ -s /data/int-$how.dat.cpu0 ] && break; sleep 0.5; done
	sleep 2; echo "int-$how during probes=$(probes)" >> /mnt/results
	[ $how = group ] && kill -INT -- -$p || kill -INT $p
	wait $p; done_with int-$how $?
done
# Without wakeif: the script of doc/markers.md under trace-cmd.
trace-cmd record -q -C mono -o /data/script.dat -e sched_switch -e sched_waking -e sched_wakeup sh -c "sh /mnt/markers.sh; exec $load" \
	> /mnt/out/script.out 2> /mnt/out/script.log
done_with script $?
# By hand: the helper under trace-cmd, in an instance.
trace-cmd record -q -C mono -o /data/hand.dat -B inst -e sched_switch -e sched_waking wakeif record-exec --instance inst -- $load \
	> /mnt/out/hand.out 2> /mnt/out/hand.log
done_with hand $?
wakeif topology --capture -o /mnt/out/guest.topology.tar.gz; echo "capture rc=$?" >> /mnt/results
grep -E "select_idle|select_task_rq_fair" /proc/kallsyms > /mnt/out/kallsyms.txt
