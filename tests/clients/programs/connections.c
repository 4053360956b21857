/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * connections [-s] [-p port] [-m ports] [-n cycles] [-c at_once] [-w width] [-H] [-L] address
 *
 * Connects through librdmacm's events, exchanges a message each way, and disconnects. Does this
 * `cycles` times, with `at_once` connections at the same time. Prints the rate, and the memory and
 * descriptors early in the run and at its end. Exit status: 0 on success; 1 if something was wrong
 * or hung.
 *
 * -s: run as the server, until SIGTERM.
 * -H: hold each connection until `at_once` are established (for ever if that exceeds `cycles`). At
 *     most `width` connections are being established at the same time.
 * -m: use this number of ports from `port` on, in turn. A port accepts only as many connections
 *     from one address as there are ephemeral ports.
 * -L: allow failures by a documented event (for lossy networks).
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE	     64
#define MOST_AT_ONCE 131072
#define STUCK_SEC    120.0 /* time without any event after which the run counts as hung */
#define PRIVATE_LEN  8

static volatile sig_atomic_t told_to_end;

static void on_term(int signal)
{
	(void)signal;
	told_to_end = 1;
}

/* One end of a connection. Its buffer contains the received message, then the sent message. */
struct connection {
	struct rdma_cm_id *id;
	uint32_t number; /* the client's count of connections, sent in the private data */
	unsigned place;
	bool established;
	bool answered;
	struct connection *next_free;
};

struct run {
	struct rdma_event_channel *channel;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_comp_channel *completions;
	struct ibv_mr *mr;
	uint8_t *buffers;
	struct connection *connection; /* array of MOST_AT_ONCE */
	struct connection *unused;
	struct sockaddr_storage address;
	bool server, hold, lossy;
	unsigned cycles, at_once, width, ports;
	unsigned started, finished, open, up;
	unsigned long succeeded, failed[RDMA_CM_EVENT_TIMEWAIT_EXIT + 1];
	int wrong;
	long early_kib;
	unsigned early_fds;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long resident_kib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size, resident = 0;

	if (f && fscanf(f, "%ld %ld", &size, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static uint8_t *buffer(const struct run *r, const struct connection *c, bool sent)
{
	return r->buffers + MESSAGE * (2 * c->place + sent);
}

static void fill(uint8_t *p, uint32_t number, bool reply)
{
	for (unsigned i = 0; i < MESSAGE; i++)
		p[i] = (uint8_t)(number * 2654435761u >> 24) + (uint8_t)(i * (reply ? 7 : 3));
}

/* Creates the objects that all ids share, when the first id knows its device. */
static int prepare(struct run *r, struct ibv_context *verbs)
{
	if (r->pd)
		return 0;
	r->buffers = calloc(2 * MOST_AT_ONCE, MESSAGE);
	r->pd = ibv_alloc_pd(verbs);
	r->completions = ibv_create_comp_channel(verbs);
	if (!r->buffers || !r->pd || !r->completions)
		return -1;
	r->mr = ibv_reg_mr(r->pd, r->buffers, 2 * MOST_AT_ONCE * MESSAGE, IBV_ACCESS_LOCAL_WRITE);
	r->cq = ibv_create_cq(verbs, 4 * MOST_AT_ONCE, NULL, r->completions, 0);
	if (!r->mr || !r->cq || ibv_req_notify_cq(r->cq, 0))
		return -1;
	return fcntl(r->completions->fd, F_SETFL, O_NONBLOCK);
}

static struct connection *take(struct run *r, struct rdma_cm_id *id)
{
	struct connection *c = r->unused;

	if (!c)
		return NULL;
	r->unused = c->next_free;
	c->id = id;
	c->established = c->answered = false;
	id->context = c;
	r->open++;
	return c;
}

static void end_connection(struct run *r, struct connection *c)
{
	if (c->established)
		r->up--;
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	if (rdma_destroy_id(c->id)) {
		perror("rdma_destroy_id");
		r->wrong++;
	}
	c->id = NULL;
	c->next_free = r->unused;
	r->unused = c;
	r->open--;
	r->finished++;
}

static int post(struct run *r, struct connection *c, bool send)
{
	struct ibv_sge sge = {(uintptr_t)buffer(r, c, send), MESSAGE, r->mr->lkey};
	struct ibv_recv_wr recv = {.wr_id = c->place, .sg_list = &sge, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr wr = {.wr_id = c->place,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	errno = send ? ibv_post_send(c->id->qp, &wr, &bad)
		     : ibv_post_recv(c->id->qp, &recv, &bad_recv);
	return errno ? -1 : 0;
}

static int make_qp(struct run *r, struct connection *c)
{
	struct ibv_qp_init_attr init = {
		.send_cq = NULL,
		.cap = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	if (prepare(r, c->id->verbs))
		return -1;
	init.send_cq = init.recv_cq = r->cq;
	if (rdma_create_qp(c->id, r->pd, &init))
		return -1;
	return post(r, c, false);
}

static struct rdma_conn_param parameters(const struct connection *c, uint8_t data[PRIVATE_LEN])
{
	memset(data, 0, PRIVATE_LEN);
	memcpy(data, &c->number, sizeof(c->number));
	return (struct rdma_conn_param){.private_data = data,
					.private_data_len = PRIVATE_LEN,
					.retry_count = 7,
					.rnr_retry_count = 7};
}

static void trouble(struct run *r, const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	r->wrong++;
}

/* Returns the address with the n-th port. */
static struct sockaddr_storage port_of(const struct run *r, unsigned n)
{
	struct sockaddr_storage a = r->address;
	in_port_t *port = a.ss_family == AF_INET ? &((struct sockaddr_in *)&a)->sin_port
						 : &((struct sockaddr_in6 *)&a)->sin6_port;

	*port = htons((uint16_t)(ntohs(*port) + n));
	return a;
}

static void start_one(struct run *r)
{
	struct sockaddr_storage to;
	struct rdma_cm_id *id;
	struct connection *c;

	if (rdma_create_id(r->channel, &id, NULL, RDMA_PS_TCP)) {
		trouble(r, "rdma_create_id");
		told_to_end = 1;
		return;
	}
	c = take(r, id);
	c->number = r->started++;
	to = port_of(r, c->number % r->ports);
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 5000)) {
		trouble(r, "rdma_resolve_addr");
		end_connection(r, c);
	}
}

static void accept_one(struct run *r, const struct rdma_cm_event *e)
{
	struct connection *c = take(r, e->id);
	struct rdma_conn_param param;
	uint8_t data[PRIVATE_LEN];

	if (!c) {
		rdma_reject(e->id, NULL, 0);
		rdma_destroy_id(e->id);
		return;
	}
	if (e->param.conn.private_data_len < PRIVATE_LEN) {
		fprintf(stderr, "a request without its private data\n");
		r->wrong++;
	} else {
		memcpy(&c->number, e->param.conn.private_data, sizeof(c->number));
	}
	param = parameters(c, data);
	if (make_qp(r, c) || rdma_accept(e->id, &param)) {
		if (!r->lossy)
			trouble(r, "accepting");
		end_connection(r, c);
	}
}

static void established(struct run *r, struct connection *c)
{
	c->established = true;
	r->up++;
	if (r->hold && r->up == r->cycles)
		printf("%u connections held\n", r->up);
	if (r->server || r->hold)
		return;
	fill(buffer(r, c, true), c->number, false);
	if (post(r, c, true))
		trouble(r, "ibv_post_send");
}

/* Starts the messages of the held connections. Call it when all connections are established. */
static void release_held(struct run *r)
{
	for (unsigned i = 0; i < r->at_once; i++) {
		struct connection *c = &r->connection[i];

		if (!c->id || !c->established)
			continue;
		fill(buffer(r, c, true), c->number, false);
		if (post(r, c, true))
			trouble(r, "ibv_post_send");
	}
	printf("%u connections established at once\n", r->up);
	r->hold = false;
}

static void failed(struct run *r, struct connection *c, const struct rdma_cm_event *e)
{
	r->failed[e->event]++;
	if (!r->lossy) {
		fprintf(stderr, "connection %u: %s, status %d\n", c->number,
			rdma_event_str(e->event), e->status);
		r->wrong++;
	}
}

/* Handles an event of a connection. True if the connection has ended. */
static bool on_event(struct run *r, struct connection *c, const struct rdma_cm_event *e)
{
	struct rdma_conn_param param;
	uint8_t data[PRIVATE_LEN];
	int rc = 0;

	switch (e->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		rc = rdma_resolve_route(e->id, 5000);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		param = parameters(c, data);
		rc = make_qp(r, c) || rdma_connect(e->id, &param);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		established(r, c);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (c->answered)
			r->succeeded++;
		else
			failed(r, c, e);
		return true;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		failed(r, c, e);
		return true;
	}
	if (rc)
		trouble(r, rdma_event_str(e->event));
	return rc;
}

static void take_events(struct run *r)
{
	struct rdma_cm_event *e;

	for (unsigned i = 0; i < 64; i++) {
		struct connection *c;
		bool over = false;

		if (rdma_get_cm_event(r->channel, &e)) {
			if (errno != EAGAIN && errno != EINTR)
				told_to_end = 1;
			return;
		}
		c = e->id->context;

		if (e->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			accept_one(r, e);
		else if (c)
			over = on_event(r, c, e);
		rdma_ack_cm_event(e);
		if (over)
			end_connection(r, c);
	}
}

static void received(struct run *r, struct connection *c)
{
	uint8_t right[MESSAGE];

	fill(right, c->number, !r->server);
	if (memcmp(right, buffer(r, c, false), MESSAGE)) {
		fprintf(stderr, "connection %u: not the bytes that were sent\n", c->number);
		r->wrong++;
	}
	c->answered = true;
	if (!r->server) {
		rdma_disconnect(c->id);
		return;
	}
	fill(buffer(r, c, true), c->number, true);
	if (post(r, c, true))
		trouble(r, "ibv_post_send");
}

static void take_completions(struct run *r)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	if (!r->cq)
		return;
	if (!ibv_get_cq_event(r->completions, &cq, &context)) {
		ibv_ack_cq_events(cq, 1);
		ibv_req_notify_cq(cq, 0);
	}
	while (ibv_poll_cq(r->cq, 1, &wc) > 0) {
		struct connection *c = &r->connection[wc.wr_id];
		bool current = c->id && c->id->qp && c->id->qp->qp_num == wc.qp_num;

		if (wc.status == IBV_WC_SUCCESS && current && wc.opcode == IBV_WC_RECV)
			received(r, c);
		else if (wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR &&
			 !r->lossy) {
			fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
			r->wrong++;
		}
	}
}

static bool done(const struct run *r)
{
	if (r->server)
		return told_to_end;
	return (r->finished >= r->cycles || told_to_end) && !r->open;
}

static void note_early(struct run *r)
{
	if (!r->early_kib && r->finished >= (r->cycles ? r->cycles / 5 : 1000)) {
		r->early_kib = resident_kib();
		r->early_fds = descriptors();
	}
}

static int loop(struct run *r)
{
	double last = now();

	while (!done(r)) {
		struct pollfd fds[2] = {{r->channel->fd, POLLIN, 0},
					{r->cq ? r->completions->fd : -1, POLLIN, 0}};

		while (!r->server && !told_to_end && r->open < r->at_once &&
		       r->started < r->cycles && r->open - r->up < r->width)
			start_one(r);
		if (poll(fds, 2, 1000) > 0)
			last = now();
		take_events(r);
		take_completions(r);
		note_early(r);
		if (r->hold && r->up == r->at_once)
			release_held(r);
		if (!r->server && now() - last > STUCK_SEC) {
			fprintf(stderr, "%u connections hang\n", r->open);
			return -1;
		}
	}
	return 0;
}

static int start_server(struct run *r)
{
	for (unsigned i = 0; i < r->ports; i++) {
		struct sockaddr_storage a = port_of(r, i);
		struct rdma_cm_id *id;

		if (rdma_create_id(r->channel, &id, NULL, RDMA_PS_TCP) ||
		    rdma_bind_addr(id, (struct sockaddr *)&a) || rdma_listen(id, 1024))
			return -1;
	}
	printf("listening\n");
	return 0;
}

static int parse(struct run *r, int argc, char **argv)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&r->address;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&r->address;
	uint16_t port = 18700;
	int o;

	while ((o = getopt(argc, argv, "sp:m:n:c:w:HL")) >= 0) {
		if (o == 's')
			r->server = true;
		else if (o == 'p')
			port = (uint16_t)atoi(optarg);
		else if (o == 'm')
			r->ports = (unsigned)atoi(optarg);
		else if (o == 'w')
			r->width = (unsigned)atoi(optarg);
		else if (o == 'n')
			r->cycles = (unsigned)atoi(optarg);
		else if (o == 'c')
			r->at_once = (unsigned)atoi(optarg);
		else if (o == 'H')
			r->hold = true;
		else if (o == 'L')
			r->lossy = true;
		else
			return -1;
	}
	if (optind != argc - 1 || !r->at_once || r->at_once > MOST_AT_ONCE || !r->width ||
	    !r->ports)
		return -1;
	if (inet_pton(AF_INET, argv[optind], &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		return 0;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	return inet_pton(AF_INET6, argv[optind], &in6->sin6_addr) == 1 ? 0 : -1;
}

static void report(const struct run *r, double seconds)
{
	printf("%lu exchanged, %.0f connections a second\n", r->succeeded,
	       (double)r->finished / seconds);
	for (unsigned i = 0; i <= RDMA_CM_EVENT_TIMEWAIT_EXIT; i++)
		if (r->failed[i])
			printf("%lu ended with %s\n", r->failed[i],
			       rdma_event_str((enum rdma_cm_event_type)i));
	printf("memory %ld KiB early, %ld KiB at the end; descriptors %u, %u\n", r->early_kib,
	       resident_kib(), r->early_fds, descriptors());
}

int main(int argc, char **argv)
{
	struct run r = {.cycles = 0, .at_once = 1, .width = MOST_AT_ONCE, .ports = 1};
	struct sigaction term = {.sa_handler = on_term};
	double start = now();
	int rc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGTERM, &term, NULL);
	if (parse(&r, argc, argv)) {
		fprintf(stderr, "usage: connections [-s] [-p port] [-m ports] [-n cycles] "
				"[-c at_once] [-w width] [-H] [-L] address\n");
		return 1;
	}
	r.connection = calloc(MOST_AT_ONCE, sizeof(*r.connection));
	r.channel = rdma_create_event_channel();
	if (!r.connection || !r.channel || fcntl(r.channel->fd, F_SETFL, O_NONBLOCK)) {
		perror("rdma_create_event_channel");
		return 1;
	}
	for (unsigned i = MOST_AT_ONCE; i-- > 0;) {
		r.connection[i].place = i;
		r.connection[i].next_free = r.unused;
		r.unused = &r.connection[i];
	}
	if (r.server && start_server(&r)) {
		perror("cannot listen");
		return 1;
	}
	rc = loop(&r);
	report(&r, now() - start);
	return rc || r.wrong ? 1 : 0;
}
