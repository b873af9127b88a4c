/* Operations as they come from the host, and answers as they go back. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

char *parse(char *p, struct op *op)
{
	uint32_t n, i;
	memcpy(&n, p, 4);
	p += 4;
	op->n = n;
	for (i = 0; i < n; i++) {
		uint32_t len;
		memcpy(&len, p, 4);
		p += 4;
		if (i < MAX_ARGS) {
			op->len[i] = len;
			op->arg[i] = p;
		}
		p += len + 1;
	}
	if (op->n > MAX_ARGS)
		op->n = MAX_ARGS;
	return p;
}

void fail(struct answer *a, int err, int step)
{
	a->err = err;
	a->step = step;
	a->type = V_NONE;
	a->len = 0;
}
void ok(struct answer *a) { fail(a, 0, 0); }
void put_int(struct answer *a, long long v)
{
	ok(a);
	a->type = V_INT;
	a->len = sprintf(a->data, "%lld", v);
}
void put_bytes(struct answer *a, const void *p, size_t n)
{
	ok(a);
	a->type = V_BYTES;
	if (n > ANSWER_MAX)
		n = ANSWER_MAX;
	memcpy(a->data, p, n);
	a->len = n;
}
void put_item(struct answer *a, const void *p, uint32_t n)
{
	if (a->type != V_LIST) {
		ok(a);
		a->type = V_LIST;
	}
	if (a->len + 4 + n > ANSWER_MAX)
		return;
	memcpy(a->data + a->len, &n, 4);
	memcpy(a->data + a->len + 4, p, n);
	a->len += 4 + n;
}
void result(struct answer *a, long r)
{
	if (r < 0)
		fail(a, errno, 0);
	else
		ok(a);
}
