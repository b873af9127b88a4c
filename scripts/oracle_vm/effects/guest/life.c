/* A task's life: its phases, one after the other. */
#define _GNU_SOURCE
#include "guest.h"

#include <pthread.h>
#include <unistd.h>

struct part {
	const struct task *task;
	int number;
};

/* Grows every ms. What the limits hold up is not made up for. */
static void grow_until(int64_t rate, int64_t until)
{
	int64_t start = held_memory(), began = now_ns(), stalled = 0;
	for (int64_t at = began; at < until; at = now_ns()) {
		sleep_until(at + MS < until ? at + MS : until);
		int64_t before = now_ns(), used = cpu_ns();
		hold_memory(start + (int64_t)((before - began - stalled) / 1e9 * rate));
		stalled += now_ns() - before - (cpu_ns() - used);
	}
}

static void do_phase(const struct phase *phase, int number)
{
	int64_t until = now_ns() + phase->ns;
	if (number == 0 && phase->memory >= 0)
		hold_memory(phase->memory);
	if (number == 0 && phase->file >= 0)
		hold_file(phase->file);
	if (number == 0 && phase->huge >= 0)
		hold_huge_pages(phase->huge);
	if (phase->kind == RUN)
		busy_for_cpu(phase->ns);
	else if (number == 0 && phase->grow)
		grow_until(phase->grow, until);
	else if (number == 0 && (phase->io_read || phase->io_write))
		transfer(phase, until);
	else if (phase->kind == FOR && number < phase->cpus)
		busy_until(until);
	else
		sleep_until(until);
}

static void do_phases(const struct task *task, int number)
{
	for (int64_t loop = 0; task->loop < 0 || loop < task->loop; loop++)
		for (int i = 0; i < task->n_phases; i++)
			do_phase(&task->phases[i], number);
}

static void *live_as(void *arg)
{
	struct part *part = arg;
	do_phases(part->task, part->number);
	return NULL;
}

/* Threads begin where the process is then, as far as there may be more. */
void live(const struct task *task, int64_t start)
{
	static struct part parts[64];
	static pthread_t threads[64];
	sleep_until(start + task->delay);
	int n = 1;
	for (; n < task->threads; n++) {
		parts[n] = (struct part){ task, n };
		if (pthread_create(&threads[n], NULL, live_as, &parts[n]))
			break;
	}
	do_phases(task, 0);
	for (int i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
}
