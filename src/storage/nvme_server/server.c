/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/server.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "storage/kit/address.h"
#include "storage/nvme_server/control.h"
#include "storage/nvme_server/listeners.h"
#include "storage/nvme_server/options.h"
#include "storage/nvme_server/reload.h"
#include "storage/nvme_server/report_log.h"
#include "storage/nvme_server/subsystems.h"
#include "storage/nvme_server/worker.h"

enum {
	PRIVATE_MAX = 256,
	CLOSE_MS = 5000,
	DRAIN_MS = 30000,
	DRAIN_LOOK_MS = 10,
	REOPEN_MS = 60000
};
#define MS 1000000u

/* What happens after the device is removed. */
enum state {
	SERVING,
	DRAINING,  /* the connections end */
	REOPENING, /* nothing of the device is left; the target listens as soon as it can */
};

struct server {
	adv_nvme_load_fn *load;
	const void *load_arg;
	struct adv_nvme_config config;
	struct adv_nvme_shared shared;
	struct adv_nvme_subsystems subsystems;
	struct adv_nvme_control control;
	struct adv_nvme_listeners listeners;
	enum state state;
	bool removed;		   /* the device */
	uint64_t give_up;	   /* when DRAINING or REOPENING has lasted too long */
	char port[8];		   /* the first one */
	struct ibv_context *verbs; /* the device of the workers */
	unsigned next_worker;
	int signals;
	struct adv_nvme_report_log log;
};

static void wake_workers(struct server *s)
{
	for (unsigned i = 0; i < s->shared.worker_count; i++)
		adv_nvme_worker_wake(s->shared.workers[i]);
}

/* --- configuration --- */

static bool make_target(struct server *s)
{
	struct adv_nvme_target_config config = {0};
	char why[ADV_NVME_BACKEND_WHY] = "no memory";

	s->shared.target = adv_nvme_target_create(&config);
	if (s->shared.target &&
	    adv_nvme_subsystems_create(&s->subsystems, &s->shared, &s->config, why))
		return true;
	fprintf(stderr, "%s\n", why);
	return false;
}

static uint8_t family_of(const struct adv_kit_address *a)
{
	return a->sa.ss_family == AF_INET6 ? ADV_NVME_IPV6 : ADV_NVME_IPV4;
}

static bool add_referrals(struct server *s, const struct adv_nvme_config *config)
{
	const struct adv_nvme_texts *referrals = &config->referrals;
	struct adv_kit_address a;

	for (size_t i = 0; i < referrals->count; i++) {
		if (!adv_kit_address_parse(referrals->at[i], ADV_NVME_PORT, false, &a) ||
		    adv_nvme_target_add_referral(s->shared.target, family_of(&a), a.host, a.port) !=
			    0)
			return false;
	}
	return true;
}

static bool same_texts(const struct adv_nvme_texts *a, const struct adv_nvme_texts *b)
{
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		if (strcmp(a->at[i], b->at[i]) != 0)
			return false;
	}
	return a->count == b->count;
}

/* Names what a new configuration changes in vain. */
static void warn_of_restart(const struct adv_nvme_config *old, const struct adv_nvme_config *new)
{
	const char *const before = old->control ? old->control : "";
	const char *const after = new->control ? new->control : "";

	if (!same_texts(&old->listen, &new->listen) || old->workers != new->workers ||
	    old->buffer_bytes != new->buffer_bytes || strcmp(before, after) != 0)
		adv_warn("changes of listen, workers, buffers and control need a new start");
}

/* The addresses stay as long as the target runs, also if it listens on them again. */
static void keep_listening(struct adv_nvme_config *old, struct adv_nvme_config *new)
{
	struct adv_nvme_texts listen = old->listen;

	old->listen = new->listen;
	new->listen = listen;
}

/* Loads the configuration again, and changes the target to it. */
static void reload_config(struct server *s)
{
	struct adv_nvme_config config;

	if (!s->load(s->load_arg, &config)) {
		adv_error("the configuration is not read again: it stays as it was");
		return;
	}
	warn_of_restart(&s->config, &config);
	pthread_mutex_lock(&s->shared.lock);
	s->shared.address_share = config.address_share;
	pthread_mutex_unlock(&s->shared.lock);
	adv_nvme_reload(&s->subsystems, &config);
	if (!same_texts(&s->config.referrals, &config.referrals)) {
		pthread_mutex_lock(&s->shared.lock);
		adv_nvme_target_remove_referrals(s->shared.target);
		if (!add_referrals(s, &config))
			adv_error("not all referrals could be added");
		pthread_mutex_unlock(&s->shared.lock);
	}
	keep_listening(&s->config, &config);
	adv_nvme_config_free(&s->config);
	s->config = config;
	wake_workers(s);
	adv_info("the configuration has been read again");
}

/* Adds the addresses to the discovery log. */
static bool add_ports(struct server *s)
{
	struct adv_kit_address a;

	for (size_t i = 0; i < s->config.listen.count; i++) {
		if (!adv_kit_address_parse(s->config.listen.at[i], ADV_NVME_PORT, true, &a) ||
		    adv_nvme_target_add_port(s->shared.target, family_of(&a), a.host, a.port) != 0)
			return false;
		if (!s->port[0])
			strcpy(s->port, a.port);
	}
	return true;
}

static bool start_listening(struct server *s)
{
	char why[ADV_NVME_LISTEN_WHY];

	if (adv_nvme_listeners_open(&s->listeners, &s->config.listen, why))
		return true;
	fprintf(stderr, "%s\n", why);
	return false;
}

/* --- workers --- */

/* Starts the workers on the device of the first connection. Connections of other devices are
 * refused: an id of a wildcard address learns its device with its first request. */
static bool start_workers(struct server *s, struct ibv_context *verbs)
{
	s->verbs = verbs;
	if (!s->shared.workers)
		s->shared.workers = calloc(s->config.workers, sizeof(struct adv_nvme_worker *));
	if (!s->shared.pd)
		s->shared.pd = ibv_alloc_pd(verbs);
	if (!s->shared.workers || !s->shared.pd)
		return false;
	adv_nvme_subsystems_register(&s->subsystems);
	for (unsigned i = 0; i < s->config.workers; i++) {
		struct adv_nvme_worker *w = adv_nvme_worker_create(&s->shared, verbs, i);

		if (!w)
			return false;
		pthread_mutex_lock(&s->shared.lock);
		s->shared.workers[s->shared.worker_count++] = w;
		pthread_mutex_unlock(&s->shared.lock);
	}
	return true;
}

/* Ends the workers, and all else that belongs to their device. There are no connections. */
static void release_device(struct server *s)
{
	unsigned count = s->shared.worker_count;

	pthread_mutex_lock(&s->shared.lock);
	s->shared.worker_count = 0;
	pthread_mutex_unlock(&s->shared.lock);
	for (unsigned i = 0; i < count; i++)
		adv_nvme_worker_destroy(s->shared.workers[i]);
	adv_nvme_subsystems_deregister(&s->subsystems);
	if (s->shared.pd)
		ibv_dealloc_pd(s->shared.pd);
	free(s->shared.workers);
	s->shared.workers = NULL;
	s->shared.pd = NULL;
	s->verbs = NULL;
}

static unsigned count_queues(struct server *s)
{
	struct adv_nvme_target_counts counts;

	pthread_mutex_lock(&s->shared.lock);
	adv_nvme_target_count(s->shared.target, &counts);
	pthread_mutex_unlock(&s->shared.lock);
	return counts.queues;
}

/* The worker whose connections hold the fewest receives; of equal ones, in turn. */
static struct adv_nvme_worker *choose_worker(struct server *s)
{
	struct adv_nvme_worker *best = NULL;
	unsigned least = 0;

	for (unsigned i = 0; i < s->shared.worker_count; i++) {
		struct adv_nvme_worker *w =
			s->shared.workers[(s->next_worker + i) % s->shared.worker_count];
		unsigned load = adv_nvme_worker_load(w);

		if (!best || load < least) {
			best = w;
			least = load;
		}
	}
	s->next_worker++;
	return best;
}

static void refuse_connection(struct rdma_cm_id *id)
{
	uint8_t data[ADV_NVME_CM_REJ_LEN];

	adv_nvme_cm_reject_encode(ADV_NVME_CM_NO_RESOURCES, data);
	rdma_reject(id, data, sizeof(data));
	rdma_destroy_id(id);
}

static void handle_request(struct server *s, struct rdma_cm_id *id,
			   const struct rdma_conn_param *param)
{
	if (s->verbs && id->verbs != s->verbs && count_queues(s) == 0)
		release_device(s);
	if (s->verbs && id->verbs != s->verbs) {
		adv_warn("a connection of a second RDMA device is refused");
		refuse_connection(id);
		return;
	}
	if (s->state != SERVING || (!s->shared.worker_count && !start_workers(s, id->verbs))) {
		refuse_connection(id);
		return;
	}
	adv_nvme_worker_connect(choose_worker(s), id, param);
}

static void handle_event(struct server *s, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = event->param.conn;
	struct rdma_cm_id *id = event->id;
	uint8_t private_data[PRIVATE_MAX] = {0};

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (param.private_data)
			memcpy(private_data, param.private_data, param.private_data_len);
		else
			param.private_data_len = 0;
		param.private_data = private_data;
		/* The new id may be destroyed only after its event. */
		rdma_ack_cm_event(event);
		handle_request(s, id, &param);
		return;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		s->removed = true;
		/* fallthrough */
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		if (id->context)
			adv_nvme_worker_disconnected(id->context);
		break;
	default:
		break;
	}
	rdma_ack_cm_event(event);
}

static void handle_events(struct server *s)
{
	struct rdma_cm_event *event;

	if (!s->listeners.channel)
		return;
	while (rdma_get_cm_event(s->listeners.channel, &event) == 0)
		handle_event(s, event);
	/* A channel that fails has no events any more. */
	if (errno != EAGAIN && errno != EINTR)
		s->removed = true;
}

/* Runs expired timers. Returns the ms until the next one; -1: none. */
static int run_timers(struct server *s)
{
	uint64_t now = adv_clock_ns(), deadline;

	pthread_mutex_lock(&s->shared.lock);
	adv_nvme_target_expire(s->shared.target, now);
	deadline = adv_nvme_target_deadline(s->shared.target);
	pthread_mutex_unlock(&s->shared.lock);
	wake_workers(s);
	/* A new timer is not noticed while this thread sleeps: it sleeps for a second at most. */
	return deadline - now < 1000ull * MS ? (int)((deadline - now) / MS) + 1 : 1000;
}

/* --- removal of the device --- */

static void close_all(struct server *s)
{
	pthread_mutex_lock(&s->shared.lock);
	adv_nvme_target_close_all(s->shared.target);
	pthread_mutex_unlock(&s->shared.lock);
	wake_workers(s);
}

static void enter_state(struct server *s, enum state state, unsigned ms)
{
	s->state = state;
	s->give_up = adv_clock_ns() + (uint64_t)ms * MS;
}

/* After the device is removed, closes the connections, and listens again: the device comes back, or
 * another one does. That of Adverb does when another adverbd runs. False: it does not; prints so.
 */
static bool recover_device(struct server *s)
{
	char why[ADV_NVME_LISTEN_WHY] = "connections do not close";

	if (s->state == SERVING && !s->removed)
		return true;
	if (s->state == SERVING) {
		adv_warn("the RDMA device was removed: its connections end");
		close_all(s);
		enter_state(s, DRAINING, DRAIN_MS);
	}
	if (s->state == DRAINING && count_queues(s) == 0) {
		release_device(s);
		adv_nvme_listeners_close(&s->listeners);
		enter_state(s, REOPENING, REOPEN_MS);
	}
	if (s->state == REOPENING &&
	    adv_nvme_listeners_open(&s->listeners, &s->config.listen, why)) {
		s->removed = false;
		s->state = SERVING;
		return true;
	}
	if (adv_clock_ns() < s->give_up)
		return true;
	adv_error("the RDMA device was removed, and the target cannot go on: %s", why);
	return false;
}

/* --- the loop --- */

/* Without a control socket the target runs, but its namespaces cannot be changed. */
static void open_control(struct server *s)
{
	const char *name = s->config.control ? s->config.control : s->port;
	char why[ADV_NVME_BACKEND_WHY];

	if (!adv_nvme_control_open(&s->control, name, &s->subsystems, why))
		adv_warn("no control socket '%s': %s", name, why);
}

/* Handles the signals that have arrived. True: one of them ends the server. */
static bool handle_signals(struct server *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGHUP)
			return true;
		reload_config(s);
	}
	return false;
}

/* Waits for an event or `timeout` ms, and handles signals. False: one of them ends the server. */
static bool wait_for_event(struct server *s, int timeout)
{
	/* The channel of a removed device is always ready. */
	struct pollfd fds[4 + ADV_NVME_CONTROL_CLIENTS] = {
		{.fd = s->state == SERVING ? s->listeners.channel->fd : -1, .events = POLLIN},
		{.fd = s->signals, .events = POLLIN},
		{.fd = s->shared.reports, .events = POLLIN}};
	unsigned count = 3 + adv_nvme_control_fds(&s->control, fds + 3);

	if (s->state == DRAINING && timeout > DRAIN_LOOK_MS)
		timeout = DRAIN_LOOK_MS;
	if (poll(fds, count, timeout) < 0)
		return errno == EINTR;
	return !fds[1].revents || !handle_signals(s);
}

/* Returns true when a signal ends the server. False: the device is gone. */
static bool run_until_signal(struct server *s)
{
	int timeout = 0, pause;

	while (wait_for_event(s, timeout)) {
		handle_events(s);
		if (!recover_device(s))
			return false;
		if (adv_nvme_control_run(&s->control))
			fflush(stdout);
		adv_nvme_subsystems_release(&s->subsystems);
		timeout = run_timers(s);
		pause = adv_nvme_report_log_run(&s->log);
		if (pause < timeout)
			timeout = pause;
	}
	return true;
}

/* --- the end --- */

/* Closes the connections, and waits until the hosts know it. */
static void close_connections(struct server *s)
{
	uint64_t end = adv_clock_ns() + (uint64_t)CLOSE_MS * MS;
	struct pollfd fd = {.fd = s->listeners.channel->fd, .events = POLLIN};

	adv_nvme_listeners_stop(&s->listeners);
	close_all(s);
	do {
		poll(&fd, 1, 10);
		handle_events(s);
	} while (count_queues(s) > 0 && adv_clock_ns() < end);
}

/* Frees everything, unless connections do not close: then the process ends with them. */
static void clean_up(struct server *s)
{
	unsigned queues;

	adv_nvme_control_close(&s->control);
	if (s->listeners.channel)
		close_connections(s);
	queues = s->shared.target ? count_queues(s) : 0;
	if (s->shared.target)
		adv_nvme_report_log_end(&s->log);
	if (queues > 0) {
		adv_error("%u queues did not close", queues);
		return;
	}
	release_device(s);
	if (s->shared.target)
		adv_nvme_target_destroy(s->shared.target);
	adv_nvme_subsystems_destroy(&s->subsystems);
	if (s->listeners.channel)
		adv_nvme_listeners_close(&s->listeners);
	pthread_mutex_destroy(&s->shared.lock);
	close(s->signals);
	close(s->shared.reports);
}

/* The lock is held for less than a microsecond: a worker that waits for it polls before it sleeps.
 */
static void init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* Makes the descriptors of the thread of events. It takes the signals, before the first thread: all
 * of them leave the signals to their descriptor. */
static bool make_descriptors(struct server *s)
{
	sigset_t signals;

	/* A write beyond RLIMIT_FSIZE is an error of the request. */
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	s->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	s->shared.reports = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return s->signals >= 0 && s->shared.reports >= 0;
}

int adv_nvme_serve(adv_nvme_load_fn *load, const void *arg)
{
	struct server s = {.load = load,
			   .load_arg = arg,
			   .signals = -1,
			   .control.listener = -1,
			   .subsystems.log = stdout,
			   .listeners.log = stdout};
	int status = EXIT_FAILURE;

	if (!load(arg, &s.config))
		return EXIT_FAILURE;
	adv_log_for_server("adverb-nvme");
	init_lock(&s.shared.lock);
	s.shared.buffer_bytes = s.config.buffer_bytes;
	s.log.shared = &s.shared;
	adv_list_init(&s.shared.holders);
	s.shared.address_share = s.config.address_share;
	if (make_descriptors(&s) && make_target(&s) && add_referrals(&s, &s.config) &&
	    add_ports(&s) && start_listening(&s)) {
		open_control(&s);
		for (size_t i = 0; i < s.config.subsystem_count; i++)
			printf("subsystem %s\n", s.config.subsystems[i].nqn);
		fflush(stdout);
		/* From here on, changes go to the log. */
		s.subsystems.log = s.listeners.log = NULL;
		if (run_until_signal(&s))
			status = EXIT_SUCCESS;
	}
	clean_up(&s);
	adv_nvme_config_free(&s.config);
	return status;
}
