/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * exchange [-p port] [-q qps] [-s bytes] [-t seconds] [-l seconds] [-w ms] [-k timeout] [-e]
 *	    [-a] [host]
 *
 * Two processes write into each other's memory (WRITE with immediate), in rounds on every queue
 * pair, and compare every received byte. The caller (with host) decides on the last round: after -t
 * seconds, or on SIGTERM if -t is 0. -k: the timeout of the queue pairs. -a: print the queue pair
 * numbers of both ends and their first PSNs. Exit status: 0 on success; 1 if something was wrong; 3
 * if the other process died.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

#define PEER_LOST   3
#define LAST_ROUND  0x80000000u
#define GIVE_UP_SEC 60.0
#define GIVE_UP_ALL 240 /* limit of the run time without -l, s */

static volatile sig_atomic_t told_to_end;

static void on_term(int signal)
{
	(void)signal;
	told_to_end = 1;
}

struct exchange {
	struct peer peer;
	size_t bytes; /* length of a message */
	int events;   /* true: sleep on the completion channel */
	int announce;
	int caller;			  /* true with host: this end decides on the last round */
	unsigned longest;		  /* limit of this program's run time, s */
	useconds_t pause;		  /* pause of the caller before each round, us */
	double end;			  /* a round after this time is the last */
	uint32_t sent[PEER_MAX_QPS];	  /* rounds posted */
	uint32_t sent_done[PEER_MAX_QPS]; /* rounds completed at the sender */
	uint32_t received[PEER_MAX_QPS];  /* rounds received and compared */
	int last[PEER_MAX_QPS];		  /* this queue pair has seen its last round */
	unsigned long rounds;
	int timed_out; /* the last wait for an event timed out */
};

/* Returns the offset of a round's message in the buffer. Each queue pair has two places to receive
 * into and two to send from. */
static size_t place(const struct exchange *x, unsigned qp, int sending, uint32_t round)
{
	return x->bytes * (4 * qp + 2 * (sending ? 1u : 0u) + (round & 1));
}

static uint32_t seed_of(int caller, unsigned qp, uint32_t round)
{
	return round * 977 + qp * 31 + (caller ? 7u : 0u);
}

static int post_receive(struct exchange *x, unsigned qp)
{
	struct ibv_recv_wr wr = {.wr_id = 0};
	struct ibv_recv_wr *bad;

	errno = ibv_post_recv(x->peer.qp[qp], &wr, &bad);
	if (errno)
		perror("ibv_post_recv");
	return errno ? -1 : 0;
}

static int post_round(struct exchange *x, unsigned qp)
{
	struct peer *p = &x->peer;
	uint32_t round = x->sent[qp]++;
	size_t from = place(x, qp, 1, round);
	struct ibv_sge sge = {(uintptr_t)p->buffer + from, (uint32_t)x->bytes, p->mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = p->remote[qp].buffer + place(x, qp, 0, round),
			    .rkey = p->remote[qp].rkey},
	};
	struct ibv_send_wr *bad;

	if (x->caller && x->pause)
		usleep(x->pause);
	if (x->caller && (told_to_end || peer_now() > x->end))
		x->last[qp] = 1;
	wr.imm_data = htonl(round | (x->last[qp] ? LAST_ROUND : 0));
	peer_fill(p->buffer + from, x->bytes, seed_of(x->caller, qp, round));
	errno = ibv_post_send(p->qp[qp], &wr, &bad);
	if (errno)
		perror("ibv_post_send");
	return errno ? -1 : 0;
}

static int qp_index(const struct exchange *x, uint32_t qpn)
{
	for (unsigned i = 0; i < x->peer.qps; i++) {
		if (x->peer.qp[i]->qp_num == qpn)
			return (int)i;
	}
	fprintf(stderr, "completion of unknown QP %u\n", qpn);
	return -1;
}

static int take_receive(struct exchange *x, unsigned qp, const struct ibv_wc *wc)
{
	uint32_t imm = ntohl(wc->imm_data);
	uint32_t round = x->received[qp]++;

	if (wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM || !(wc->wc_flags & IBV_WC_WITH_IMM) ||
	    (imm & ~LAST_ROUND) != round || wc->byte_len != x->bytes) {
		fprintf(stderr,
			"invalid completion: opcode %d, immediate %#x in round %u, %u bytes\n",
			wc->opcode, imm, round, wc->byte_len);
		return -1;
	}
	if (peer_compare(x->peer.buffer + place(x, qp, 0, round), x->bytes,
			 seed_of(!x->caller, qp, round)))
		return -1;
	x->rounds++;
	if (!x->caller && (imm & LAST_ROUND))
		x->last[qp] = 1;
	return post_receive(x, qp);
}

/* True if the queue pair has sent and received its last round. */
static int finished(const struct exchange *x, unsigned qp)
{
	return x->last[qp] && x->sent_done[qp] == x->sent[qp] && x->received[qp] == x->sent[qp];
}

/* Sends the next round if the current round is complete on both sides. */
static int advance(struct exchange *x, unsigned qp)
{
	int due = x->sent_done[qp] == x->sent[qp];

	if (x->caller)
		due = due && x->received[qp] == x->sent[qp] && !x->last[qp];
	else
		due = due && x->received[qp] == x->sent[qp] + 1;
	return due ? post_round(x, qp) : 0;
}

/* Sleeps until a completion is possible. Returns 0, -1 or PEER_LOST. */
static int wait_event(struct exchange *x)
{
	struct pollfd fds[2] = {{.fd = x->peer.channel->fd, .events = POLLIN},
				{.fd = x->peer.sock, .events = POLLIN}};
	struct ibv_cq *cq;
	void *context;

	x->timed_out = poll(fds, 2, 1000) == 0;
	if (fds[0].revents & POLLIN) {
		if (ibv_get_cq_event(x->peer.channel, &cq, &context))
			return -1;
		ibv_ack_cq_events(cq, 1);
		errno = ibv_req_notify_cq(cq, 0);
		return errno ? -1 : 0;
	}
	return (fds[1].revents && peer_gone(&x->peer)) ? PEER_LOST : 0;
}

/* Checks that a completion which was polled after a wait had timed out has its event: the queue was
 * armed. */
static int check_event(struct exchange *x)
{
	struct pollfd fd = {.fd = x->peer.channel->fd, .events = POLLIN};

	x->timed_out = 0;
	if (poll(&fd, 1, 500) == 1)
		return 0;
	fprintf(stderr, "completion without an event\n");
	return -1;
}

static int handle(struct exchange *x, const struct ibv_wc *wc)
{
	int qp = qp_index(x, wc->qp_num);

	if (qp < 0)
		return -1;
	if (wc->status != IBV_WC_SUCCESS) {
		/* A dead peer fails requests a moment before its TCP connection closes. */
		for (int i = 0; i < 40 && !peer_gone(&x->peer); i++)
			usleep(50000);
		if (peer_gone(&x->peer))
			return PEER_LOST;
		fprintf(stderr, "completion error: %s, vendor_err %u, QP %d\n",
			ibv_wc_status_str(wc->status), wc->vendor_err, qp);
		return -1;
	}
	if (wc->wr_id == 1)
		x->sent_done[qp]++;
	else if (take_receive(x, (unsigned)qp, wc))
		return -1;
	return advance(x, (unsigned)qp);
}

static int all_finished(const struct exchange *x)
{
	for (unsigned i = 0; i < x->peer.qps; i++) {
		if (!finished(x, i))
			return 0;
	}
	return 1;
}

static int run(struct exchange *x)
{
	double give_up = peer_now() + GIVE_UP_SEC;
	struct ibv_wc wc[8];
	int result = 0;

	while (!all_finished(x)) {
		int n = ibv_poll_cq(x->peer.cq, 8, wc);

		if (n < 0 || (n > 0 && x->timed_out && check_event(x)))
			return -1;
		for (int i = 0; i < n; i++) {
			result = handle(x, &wc[i]);
			if (result)
				return result;
		}
		if (n > 0) {
			give_up = peer_now() + GIVE_UP_SEC;
			continue;
		}
		if (peer_now() > give_up) {
			fprintf(stderr, "no completion for %.0f s\n", GIVE_UP_SEC);
			return peer_gone(&x->peer) ? PEER_LOST : -1;
		}
		if (x->events)
			result = wait_event(x);
		else if (peer_gone(&x->peer))
			result = PEER_LOST;
		if (result)
			return result;
	}
	return 0;
}

static void announce(const struct peer *p)
{
	for (unsigned i = 0; i < p->qps; i++) {
		struct ibv_qp_init_attr init;
		struct ibv_qp_attr attr;

		if (ibv_query_qp(p->qp[i], &attr, IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &init) == 0)
			printf("queue pair %06x:%06x:%06x:%06x\n", p->qp[i]->qp_num,
			       attr.dest_qp_num, attr.sq_psn, attr.rq_psn);
	}
}

static int start(struct exchange *x, const char *host, int port, double seconds)
{
	struct peer *p = &x->peer;

	for (unsigned i = 0; i < p->qps; i++) {
		for (int k = 0; k < 4; k++) {
			if (post_receive(x, i))
				return -1;
		}
	}
	errno = ibv_req_notify_cq(p->cq, 0);
	if (errno || peer_meet(p, host, port) || peer_connect(p))
		return -1;
	if (x->announce)
		announce(p);
	printf("connected\n");
	fflush(stdout);
	x->end = peer_now() + (seconds > 0 ? seconds : x->longest);
	for (unsigned i = 0; x->caller && i < p->qps; i++) {
		if (post_round(x, i))
			return -1;
	}
	return 0;
}

/* Waits until both ends have finished. No end destroys its QPs earlier. */
static int part(struct exchange *x)
{
	char done = 'd';

	if (peer_tell(&x->peer, &done, 1) || peer_hear(&x->peer, &done, 1))
		return PEER_LOST;
	return 0;
}

int main(int argc, char **argv)
{
	static struct exchange x;
	unsigned qps = 4;
	uint8_t timeout = 0;
	double seconds = 2;
	int port = 18600;
	int result;
	int option;

	x.bytes = 4096;
	x.longest = GIVE_UP_ALL;
	while ((option = getopt(argc, argv, "p:q:s:t:l:w:k:ea")) != -1) {
		switch (option) {
		case 'p':
			port = atoi(optarg);
			break;
		case 'q':
			qps = (unsigned)atoi(optarg);
			break;
		case 's':
			x.bytes = (size_t)atoi(optarg);
			break;
		case 't':
			seconds = atof(optarg);
			break;
		case 'l':
			x.longest = (unsigned)atoi(optarg);
			break;
		case 'w':
			x.pause = (useconds_t)atoi(optarg) * 1000;
			break;
		case 'k':
			timeout = (uint8_t)atoi(optarg);
			break;
		case 'e':
			x.events = 1;
			break;
		case 'a':
			x.announce = 1;
			break;
		default:
			return 2;
		}
	}
	x.caller = optind < argc;
	alarm(x.longest);
	if (x.caller)
		signal(SIGTERM, on_term);
	if (peer_open(&x.peer, qps, 4 * qps * x.bytes, 0))
		return 1;
	x.peer.timeout = timeout;
	result = start(&x, x.caller ? argv[optind] : NULL, port, seconds);
	if (!result)
		result = run(&x);
	if (!result)
		result = part(&x);
	printf("%s: %lu messages of %zu bytes received and compared\n",
	       result == 0	     ? "ok"
	       : result == PEER_LOST ? "peer lost"
				     : "failed",
	       x.rounds, x.bytes);
	peer_close(&x.peer);
	return result < 0 ? 1 : result;
}
