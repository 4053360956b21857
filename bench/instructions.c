/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The program that bench/count-instructions runs under callgrind. It makes one verbs call at a time
 * on two connected queue pairs of this process, and dumps the counts of each call under its name.
 */
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include "floor.h"
#include "loop.h"

#define SAMPLES	  12
#define SETTLE_NS 500000000
#define WARM_UP	  20 /* round trips */
#define SMALL	  8
#define LARGE	  65536
#define BATCH	  8

static struct loop loop;
static struct ibv_wc wc[BATCH];
static int got;

/* Counts the instructions of the call, and no others. */
#define COUNT(call)                                                                                \
	do {                                                                                       \
		CALLGRIND_TOGGLE_COLLECT;                                                          \
		call;                                                                              \
		CALLGRIND_TOGGLE_COLLECT;                                                          \
	} while (0)

/*
 * Gives the library's background thread, on the same processor, a lower priority. It would
 * otherwise receive a packet before the counted call does.
 */
static void put_other_threads_back(void)
{
	struct sched_param none = {0};
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;

	if (!tasks)
		floor_die("/proc/self/task");
	while ((task = readdir(tasks))) {
		pid_t id = (pid_t)atoi(task->d_name);

		if (id && id != gettid() && sched_setscheduler(id, SCHED_IDLE, &none))
			floor_die("sched_setscheduler");
	}
	closedir(tasks);
}

/* Polls for as long as the background thread needs to leave the receiving to this program. */
static void settle(void)
{
	uint64_t end = floor_now() + SETTLE_NS;

	while (floor_now() < end) {
		loop_post(&loop, 0, IBV_WR_RDMA_WRITE, SMALL);
		loop_await(loop.send_cq, 1);
	}
}

static void warm_up(void)
{
	for (int i = 0; i < WARM_UP; i++) {
		loop_post(&loop, 0, IBV_WR_RDMA_WRITE, SMALL);
		loop_await(loop.send_cq, 1);
	}
}

/* Waits for the completions that the counted call missed because the background thread received. */
static void finish(struct ibv_cq *cq, int wanted)
{
	loop_await(cq, (unsigned)(wanted - got));
}

/* Polls an empty queue once more. */
static void poll_empty(void)
{
	for (int i = 0; i < WARM_UP; i++)
		(void)loop_poll(loop.send_cq, 1);
	COUNT((void)ibv_poll_cq(loop.send_cq, 1, wc));
}

static void post_recv(void)
{
	COUNT(loop_post_recv(&loop, 1));
	loop_post(&loop, 0, IBV_WR_SEND, SMALL);
	loop_await(loop.recv_cq, 1);
	loop_await(loop.send_cq, 1);
}

static void post_send(void)
{
	loop_post_recv(&loop, 1);
	COUNT(loop_post(&loop, 0, IBV_WR_SEND, SMALL));
	loop_await(loop.recv_cq, 1);
	loop_await(loop.send_cq, 1);
}

static void poll_request(void)
{
	loop_post_recv(&loop, 1);
	loop_post(&loop, 0, IBV_WR_SEND, SMALL);
	COUNT(got = ibv_poll_cq(loop.recv_cq, 1, wc));
	finish(loop.recv_cq, 1);
	loop_await(loop.send_cq, 1);
}

static void poll_ack(void)
{
	loop_post_recv(&loop, 1);
	loop_post(&loop, 0, IBV_WR_SEND, SMALL);
	loop_await(loop.recv_cq, 1);
	COUNT(got = ibv_poll_cq(loop.send_cq, 1, wc));
	finish(loop.send_cq, 1);
}

static void post_write(void)
{
	COUNT(loop_post(&loop, 0, IBV_WR_RDMA_WRITE, SMALL));
	loop_await(loop.send_cq, 1);
}

static void poll_write(void)
{
	loop_post(&loop, 0, IBV_WR_RDMA_WRITE, SMALL);
	COUNT(got = ibv_poll_cq(loop.recv_cq, 1, wc));
	loop_await(loop.send_cq, 1);
}

/* Polls a completion that is already in the queue. */
static void poll_full(void)
{
	for (int i = 0; i < BATCH; i++)
		loop_post(&loop, 0, IBV_WR_RDMA_WRITE, SMALL);
	for (int i = 0; i < WARM_UP; i++)
		(void)loop_poll(loop.recv_cq, 1);
	COUNT(got = ibv_poll_cq(loop.send_cq, 1, wc));
	finish(loop.send_cq, BATCH);
}

/* Transfers a message: all its packets, both ways. */
static void write_large(void)
{
	COUNT({
		loop_post(&loop, 0, IBV_WR_RDMA_WRITE, LARGE);
		loop_await(loop.send_cq, 1);
	});
}

static const struct {
	const char *name;
	void (*sample)(void);
} samples[] = {
	{"poll-empty", poll_empty}, {"poll-full", poll_full},	{"poll-request", poll_request},
	{"poll-write", poll_write}, {"poll-ack", poll_ack},	{"post-recv", post_recv},
	{"post-send", post_send},   {"post-write", post_write}, {"write-64k", write_large},
};

int main(void)
{
	floor_pin(0);
	loop_open(&loop, NULL, 1, 64, 2 * LARGE, IBV_MTU_4096);
	settle();
	put_other_threads_back();
	for (int i = 0; i < SAMPLES; i++) {
		for (size_t k = 0; k < sizeof(samples) / sizeof(samples[0]); k++) {
			warm_up();
			samples[k].sample();
			CALLGRIND_DUMP_STATS_AT(samples[k].name);
		}
	}
	loop_close(&loop);
	return 0;
}
