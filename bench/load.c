/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * load [-q pairs] [-d outstanding] [-r regions] [-t threads] [-p processes] [-s bytes] [-n
 * messages]
 *
 * WRITEs from one queue pair to another of the same process. Each process opens the device. Each of
 * its threads has its own queue pairs, regions and completion queue, sends `messages` over the
 * pairs and regions in turn, and keeps `outstanding` of them in flight. Prints the processor time
 * of a message (both sides and the kernel), which depends little on the load of the machine, and
 * the messages per second of all threads.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "floor.h"
#include "loop.h"

#define PROCESSES_MAX 256
#define THREADS_MAX   64
#define POLL_BATCH    32
#define WARM_UP	      20 /* 1 / WARM_UP of the messages is not counted */

struct shared {
	_Atomic unsigned ready; /* threads that are ready to begin */
	_Atomic unsigned done;
	uint64_t start; /* the time at which the last thread is ready */
	struct {
		uint64_t cpu_ns;
		uint64_t end;
		uint64_t register_ns; /* time to register one region */
	} process[PROCESSES_MAX];
};

static unsigned pairs = 1;
static unsigned outstanding = 64;
static unsigned regions = 1;
static unsigned threads = 1;
static unsigned processes = 1;
static size_t bytes = 64;
static uint64_t messages = 100000;
static struct shared *shared;
static struct ibv_context *context;

struct sender {
	struct loop loop;
	struct ibv_mr **mr;
	uint64_t register_ns;
	pthread_t thread;
};

static uint64_t cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void register_regions(struct sender *s)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	uint64_t start = cpu_now();

	s->mr = calloc(regions, sizeof(struct ibv_mr *));
	for (unsigned i = 0; s->mr && i < regions; i++) {
		s->mr[i] = ibv_reg_mr(s->loop.pd, s->loop.buffer + i * bytes, bytes, access);
		if (!s->mr[i])
			floor_die("ibv_reg_mr");
	}
	s->register_ns = (cpu_now() - start) / regions;
}

static void post(struct sender *s, uint64_t k)
{
	struct ibv_mr *mr = s->mr[k % regions];
	struct ibv_sge sge = {(uintptr_t)mr->addr, (uint32_t)bytes, mr->lkey};
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)mr->addr, mr->rkey},
	};

	if (ibv_post_send(s->loop.qp[2 * (k % pairs)], &wr, &bad))
		floor_die("ibv_post_send");
}

static void send_all(struct sender *s, uint64_t count)
{
	uint64_t posted = 0;
	uint64_t done = 0;

	while (done < count) {
		while (posted < count && posted - done < outstanding)
			post(s, posted++);
		done += (uint64_t)loop_poll(s->loop.send_cq, POLL_BATCH);
	}
}

static void *run(void *arg)
{
	struct sender *s = arg;

	loop_open(&s->loop, context, pairs, outstanding, MAX(regions * bytes, 2 * bytes),
		  IBV_MTU_4096);
	register_regions(s);
	send_all(s, messages / WARM_UP + 1);
	if (atomic_fetch_add(&shared->ready, 1) + 1 == threads * processes)
		shared->start = floor_now();
	while (atomic_load(&shared->ready) < threads * processes)
		usleep(100);
	send_all(s, messages);
	/* No process exits before the last is done: its threads and sockets are load. */
	atomic_fetch_add(&shared->done, 1);
	return NULL;
}

static void process(unsigned index)
{
	static struct sender sender[THREADS_MAX];
	uint64_t start;

	context = loop_open_device();
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&sender[i].thread, NULL, run, &sender[i]))
			floor_die("pthread_create");
	while (atomic_load(&shared->ready) < threads * processes)
		usleep(100);
	start = cpu_now();
	for (unsigned i = 0; i < threads; i++)
		pthread_join(sender[i].thread, NULL);
	shared->process[index].cpu_ns = cpu_now() - start;
	shared->process[index].end = floor_now();
	shared->process[index].register_ns = sender[0].register_ns;
	while (atomic_load(&shared->done) < threads * processes)
		usleep(1000);
}

static void fork_all(void)
{
	pid_t child[PROCESSES_MAX];

	for (unsigned i = 0; i < processes; i++) {
		child[i] = fork();
		if (child[i] < 0)
			floor_die("fork");
		if (child[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			process(i);
			_exit(0);
		}
	}
	for (unsigned i = 0; i < processes; i++)
		floor_join(child[i]);
}

static unsigned option_value(const char *text, unsigned limit)
{
	long value = atol(text);

	if (value < 1 || value > (long)limit) {
		fprintf(stderr, "load: %s is not from 1 to %u\n", text, limit);
		exit(2);
	}
	return (unsigned)value;
}

static void parse(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "q:d:r:t:p:s:n:")) != -1) {
		switch (option) {
		case 'q':
			pairs = option_value(optarg, 100000);
			break;
		case 'd':
			outstanding = option_value(optarg, 16384);
			break;
		case 'r':
			regions = option_value(optarg, 1000000);
			break;
		case 't':
			threads = option_value(optarg, THREADS_MAX);
			break;
		case 'p':
			processes = option_value(optarg, PROCESSES_MAX);
			break;
		case 's':
			bytes = option_value(optarg, 1 << 20);
			break;
		case 'n':
			messages = option_value(optarg, 1u << 30);
			break;
		default:
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t cpu = 0;
	uint64_t end = 0;
	double all;

	parse(argc, argv);
	shared = floor_shared(sizeof(*shared));
	fork_all();
	for (unsigned i = 0; i < processes; i++) {
		cpu += shared->process[i].cpu_ns;
		end = MAX(end, shared->process[i].end);
	}
	all = (double)messages * threads * processes;
	printf("load cpu_ns=%.0f kmsgs=%.1f register_ns=%llu\n", (double)cpu / all,
	       all * 1e6 / (double)(end - shared->start),
	       (unsigned long long)shared->process[0].register_ns);
	return 0;
}
