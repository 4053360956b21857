/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/capture/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command/command.h"

#define SECOND_NS  1000000000ull
#define ANSWER_NS  (3 * SECOND_NS) /* longest wait for a process's answer */
#define RETRY_NS   (2 * SECOND_NS) /* until another try */
#define LIST_NS	   SECOND_NS	   /* the processes are listed at least this often */
#define CONNECT_NS SECOND_NS	   /* between two attempts to connect to adverbd */

struct adv_sources {
	struct adv_sources_config config;
	struct adv_control *control;
	uint64_t connect_at; /* next attempt; ns */
	uint64_t list_at;    /* next listing; ns */
	bool may_use_daemon;
	bool had_any;
	bool told; /* adverbd passes the sockets of processes that open a slot */
	/* Ports of the senders when the processes were listed last: a change shows a new process.
	 */
	uint16_t ports[ADV_SLOTS];
	struct adv_source **list;
	size_t count;
	size_t room;
	uint8_t data[ADV_TAP_DATA_MAX];
};

/* ---- the connection ---- */

/* Learns what the connection permits. False: the connection is lost. */
static bool greet_daemon(struct adv_sources *s)
{
	struct adv_control_status status;
	uint32_t uid = geteuid();

	if (adv_control_status(s->control, &status) != 0)
		return false;
	s->may_use_daemon = uid == 0 || (!status.system && status.uid == uid);
	return true;
}

static struct adv_capture_message request_for(const struct adv_sources *s, uint32_t slot)
{
	return (struct adv_capture_message){
		.slot = slot,
		.place = (uint16_t)s->config.place,
		.size = s->config.size,
		.limit = s->config.limit,
	};
}

/* Requests that adverbd passes the sockets of new processes. Otherwise these are found by listing.
 */
static void ask_for_new(struct adv_sources *s)
{
	const struct adv_capture_choice *c = &s->config.choice;
	const struct adv_capture_message m = request_for(s, 0);
	char why[ADV_CONTROL_TEXT_LEN];

	s->told = !c->pid && !c->slot && !c->qpn && !c->cm &&
		  adv_capture_request_later(s->control, &m, why, sizeof(why)) == 0;
	s->list_at = 0;
}

static void lose_connection(struct adv_sources *s)
{
	fprintf(stderr, "adverb capture: adverbd has ended; new programs are captured when another "
			"one runs\n");
	adv_control_close(s->control);
	s->control = NULL;
	s->connect_at = adv_clock_ns() + CONNECT_NS;
}

static bool connect_again(struct adv_sources *s, uint64_t now)
{
	char why[ADV_CONTROL_TEXT_LEN];

	if (s->control || now < s->connect_at)
		return s->control != NULL;
	s->connect_at = now + CONNECT_NS;
	s->control = adv_control_connect(false, why, sizeof(why));
	if (s->control && !greet_daemon(s)) {
		adv_control_close(s->control);
		s->control = NULL;
	}
	if (s->control)
		ask_for_new(s);
	return s->control != NULL;
}

struct adv_sources *adv_sources_create(const struct adv_sources_config *config)
{
	struct adv_sources *s = calloc(1, sizeof(*s));

	if (!s) {
		fprintf(stderr, "adverb capture: %s\n", strerror(ENOMEM));
		return NULL;
	}
	s->config = *config;
	s->control = adv_cli_connect(true);
	if (s->control && greet_daemon(s)) {
		ask_for_new(s);
		return s;
	}
	adv_sources_destroy(s);
	return NULL;
}

void adv_sources_destroy(struct adv_sources *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		adv_capture_end(&s->list[i]->ring);
		free(s->list[i]);
	}
	free(s->list);
	adv_control_close(s->control);
	free(s);
}

struct adv_control *adv_sources_control(const struct adv_sources *s)
{
	return s->control;
}

/* ---- finding processes ---- */

static void report_source(const struct adv_source *source, const char *what)
{
	if (source->slot)
		fprintf(stderr, "adverb capture: process %u (%s), slot %u: %s\n", source->pid,
			source->comm, source->slot, what);
	else
		fprintf(stderr, "adverb capture: adverbd: %s\n", what);
}

/* True for an answer that no later try changes. */
static bool is_refusal(int error)
{
	return error == EPERM || error == EPROTO;
}

/* Ends a try. Prints the reason, unless it is the same as that of the try before. */
static void fail_source(struct adv_source *source, int error, const char *why)
{
	if (error != source->told)
		report_source(source, why);
	source->told = error;
	adv_capture_end(&source->ring);
	source->state = is_refusal(error) ? ADV_SOURCE_REFUSED : ADV_SOURCE_FAILED;
	source->until = adv_clock_ns() + RETRY_NS;
}

static struct adv_source *find_source(struct adv_sources *s, uint32_t slot, uint32_t pid)
{
	for (size_t i = 0; i < s->count; i++) {
		struct adv_source *source = s->list[i];

		/* A process that adverbd has passed is known by its answer. */
		if (source->given && source->state != ADV_SOURCE_OPEN)
			continue;
		if (source->slot == slot && source->pid == pid && source->state != ADV_SOURCE_ENDED)
			return source;
	}
	return NULL;
}

static struct adv_source *add_source(struct adv_sources *s, uint32_t slot, uint32_t pid,
				     const char *comm)
{
	struct adv_source *source;

	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : 16;
		struct adv_source **list = realloc(s->list, room * sizeof(*list));

		if (!list)
			return NULL;
		s->list = list;
		s->room = room;
	}
	source = calloc(1, sizeof(*source));
	if (!source)
		return NULL;
	source->index = (unsigned)s->count;
	source->slot = slot;
	source->pid = pid;
	snprintf(source->comm, sizeof(source->comm), "%s", comm);
	source->ring.life = -1;
	source->state = ADV_SOURCE_FAILED;
	s->list[s->count++] = source;
	return source;
}

/* Requests the capture of a process. False: the connection to adverbd is lost. */
static bool ask_process(struct adv_sources *s, struct adv_source *source)
{
	const struct adv_capture_message m = request_for(s, source->slot);
	char why[ADV_CONTROL_TEXT_LEN];
	int error = adv_capture_request(s->control, &m, &source->ring, why, sizeof(why));

	source->state = ADV_SOURCE_ASKED;
	source->until = adv_clock_ns() + ANSWER_NS;
	if (error == ECONNRESET)
		source->state = ADV_SOURCE_FAILED;
	else if (error == ENOENT) /* it has just ended */
		source->state = ADV_SOURCE_ENDED;
	else if (error)
		fail_source(source, error, why);
	return error != ECONNRESET;
}

/* Requests the capture of a process that is not captured. False: the connection is lost. */
static bool meet_process(struct adv_sources *s, uint32_t slot, uint32_t pid, const char *comm,
			 uint64_t now)
{
	struct adv_source *source = find_source(s, slot, pid);

	if (!source)
		source = add_source(s, slot, pid, comm);
	if (!source || source->state != ADV_SOURCE_FAILED || source->until > now)
		return true;
	return ask_process(s, source);
}

static bool is_chosen(const struct adv_sources *s, const struct adv_control_entry *e, uint32_t uid)
{
	const struct adv_capture_choice *c = &s->config.choice;
	const struct adv_senders *senders = adv_control_senders(s->control);

	if (c->pid)
		return e->pid == c->pid;
	if (c->slot)
		return e->slot == c->slot;
	if (c->qpn)
		return atomic_load(&senders->home[adv_qpn_prefix(c->qpn)]) == e->slot;
	return !c->cm && (uid == 0 || e->uid == uid);
}

/* True if adverbd's packets are captured. Without a choice they are if the caller may do so. */
static bool takes_daemon(const struct adv_sources *s)
{
	const struct adv_capture_choice *c = &s->config.choice;

	return c->cm || (s->may_use_daemon && !c->pid && !c->slot && !c->qpn);
}

/* Lists all processes and meets those that are chosen. False: the connection is lost. */
static bool list_processes(struct adv_sources *s, uint64_t now)
{
	const uint32_t uid = geteuid();
	struct adv_control_entry e;
	uint32_t from = 0;
	int error;

	if (takes_daemon(s) && !meet_process(s, ADV_SLOT_DAEMON, 0, "adverbd", now))
		return false;
	while ((error = adv_control_list(s->control, from, &e)) == 0) {
		from = e.slot + 1;
		if (e.connected && is_chosen(s, &e, uid) &&
		    !meet_process(s, e.slot, e.pid, e.comm, now))
			return false;
	}
	return error == ENOENT;
}

/* True if a process has opened or closed a slot since the last call. */
static bool have_slots_changed(struct adv_sources *s)
{
	const struct adv_senders *senders = adv_control_senders(s->control);
	bool changed = false;

	for (unsigned i = 0; i < ADV_SLOTS; i++) {
		uint16_t port = atomic_load_explicit(&senders->port[i], memory_order_relaxed);

		changed = changed || port != s->ports[i];
		s->ports[i] = port;
	}
	return changed;
}

/* ---- the lives of known processes ---- */

/* True if another source has the same process. */
static bool is_captured(const struct adv_sources *s, const struct adv_source *source)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct adv_source *other = s->list[i];

		if (other != source && other->state == ADV_SOURCE_OPEN &&
		    other->slot == source->slot && other->pid == source->pid &&
		    !adv_capture_has_ended(&other->ring))
			return true;
	}
	return false;
}

/* Adds a source whose socket adverbd has passed. */
static void take_given(struct adv_sources *s, uint64_t now)
{
	int fd = adv_control_take_fault(s->control);
	struct adv_source *source = fd < 0 ? NULL : add_source(s, 0, 0, "?");

	if (!source) {
		if (fd >= 0)
			close(fd);
		return;
	}
	source->given = true;
	source->ring.life = fd;
	source->state = ADV_SOURCE_ASKED;
	source->until = now + ANSWER_NS;
}

/* Reads the notices of adverbd. False: the connection is lost. */
static bool read_notices(struct adv_sources *s, uint64_t now)
{
	for (;;) {
		switch (adv_control_read(s->control)) {
		case ADV_NOTICE_NONE:
			return true;
		case ADV_NOTICE_GONE:
			return false;
		case ADV_NOTICE_FAULT:
			take_given(s, now);
			break;
		case ADV_NOTICE_GIDS_CHANGED: /* another worker, perhaps, which knows no request */
			ask_for_new(s);
			break;
		default:
			break;
		}
	}
}

/* Forgets a source that has no records. */
static void end_asked(struct adv_source *source)
{
	source->state = ADV_SOURCE_ENDED;
	adv_capture_end(&source->ring);
}

static void receive_answer(struct adv_sources *s, struct adv_source *source, uint64_t now)
{
	char why[ADV_CONTROL_TEXT_LEN];
	struct adv_capture_message m;
	int error = adv_capture_receive(&source->ring, &m, why, sizeof(why));

	if (error == EAGAIN && now < source->until)
		return;
	if (error && source->given) { /* if it lives, the list has it */
		end_asked(source);
		return;
	}
	if (error) {
		fail_source(source, error,
			    error == EAGAIN ? "no answer: it is stopped or too busy" : why);
		return;
	}
	if (source->given) {
		source->slot = m.slot;
		source->pid = m.pid;
		snprintf(source->comm, sizeof(source->comm), "%s", m.comm);
	}
	if (is_captured(s, source)) {
		end_asked(source);
		return;
	}
	adv_tap_reader_init(&source->reader, source->ring.memory, source->ring.size);
	source->state = ADV_SOURCE_OPEN;
	source->end = source->earlier = 0;
	s->had_any = true;
	if (!s->config.quiet)
		report_source(source, "capturing");
}

static void end_source(struct adv_source *source)
{
	source->dropped = atomic_load(&source->ring.memory->dropped);
	source->state = ADV_SOURCE_ENDED;
	source->has_next = false;
	adv_capture_end(&source->ring);
}

static void look_at(struct adv_sources *s, struct adv_source *source, uint64_t now)
{
	if (source->state == ADV_SOURCE_ASKED) {
		receive_answer(s, source, now);
	} else if (source->state == ADV_SOURCE_OPEN) {
		bool ended = adv_capture_has_ended(&source->ring);

		if (source->reader.broken) {
			report_source(source, "its ring has been damaged; its capture ends");
			end_source(source);
		} else if (ended && !source->has_next &&
			   !adv_tap_peek(&source->reader, &source->next) &&
			   !source->reader.broken) {
			end_source(source);
		}
	}
}

void adv_sources_look(struct adv_sources *s)
{
	uint64_t now = adv_clock_ns();
	bool live = true;

	if (connect_again(s, now))
		live = read_notices(s, now);
	for (size_t i = 0; i < s->count; i++)
		look_at(s, s->list[i], now);
	if (!s->control)
		return;
	if (live && ((have_slots_changed(s) && !s->told) || now >= s->list_at)) {
		s->list_at = now + LIST_NS;
		live = list_processes(s, now);
	}
	if (!live)
		lose_connection(s);
}

unsigned adv_sources_live(const struct adv_sources *s)
{
	unsigned live = 0;

	for (size_t i = 0; i < s->count; i++)
		live += s->list[i]->state == ADV_SOURCE_ASKED ||
			s->list[i]->state == ADV_SOURCE_OPEN;
	return live;
}

bool adv_sources_had_any(const struct adv_sources *s)
{
	return s->had_any;
}

bool adv_sources_refused(const struct adv_sources *s)
{
	const struct adv_capture_choice *c = &s->config.choice;
	bool refused = false;

	if (!c->pid && !c->slot && !c->qpn && !c->cm)
		return false;
	for (size_t i = 0; i < s->count; i++) {
		if (s->list[i]->state != ADV_SOURCE_REFUSED)
			return false;
		refused = true;
	}
	return refused;
}

void adv_sources_stop(struct adv_sources *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i]->state == ADV_SOURCE_OPEN)
			adv_capture_stop(&s->list[i]->ring);
}

const struct adv_source *adv_sources_get(const struct adv_sources *s, size_t index)
{
	return index < s->count ? s->list[index] : NULL;
}

uint64_t adv_source_dropped(const struct adv_source *source)
{
	return source->state == ADV_SOURCE_OPEN ? atomic_load(&source->ring.memory->dropped)
						: source->dropped;
}

/* ---- reading in the order of time ---- */

/* True if the source has a record for this round: one that was there when the round began, with a
 * time before that. A record that the round before has left is due in any case: the clock may have
 * been set back, and a process may write any time. */
static bool has_due(struct adv_source *source, uint64_t now)
{
	if (source->state != ADV_SOURCE_OPEN || source->reader.tail >= source->end)
		return false;
	if (!source->has_next)
		source->has_next = adv_tap_peek(&source->reader, &source->next);
	return source->has_next &&
	       (source->next.time <= now || source->reader.tail < source->earlier);
}

static void begin_round(struct adv_sources *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct adv_source *source = s->list[i];

		if (source->state != ADV_SOURCE_OPEN)
			continue;
		source->earlier = source->end;
		source->end = atomic_load(&source->ring.memory->head);
	}
}

/* Returns the source with the oldest record of this round; NULL: none has one. Sets *until to the
 * time of the oldest record of the others. */
static struct adv_source *find_oldest(struct adv_sources *s, uint64_t now, uint64_t *until)
{
	struct adv_source *oldest = NULL;

	*until = UINT64_MAX;
	for (size_t i = 0; i < s->count; i++) {
		struct adv_source *source = s->list[i];

		if (!has_due(source, now))
			continue;
		if (!oldest || source->next.time < oldest->next.time) {
			if (oldest)
				*until = oldest->next.time;
			oldest = source;
		} else if (source->next.time < *until) {
			*until = source->next.time;
		}
	}
	return oldest;
}

uint64_t adv_sources_drain(struct adv_sources *s, bool last, adv_source_fn *fn, void *user)
{
	uint64_t now = last ? UINT64_MAX : adv_clock_day_ns(), records = 0, until;
	struct adv_source *source;
	bool more = true;

	begin_round(s);
	while (more && (source = find_oldest(s, now, &until))) {
		do {
			adv_tap_take(&source->reader, &source->next, s->data);
			source->has_next = false;
			records++;
			more = fn(user, source, &source->next, s->data);
		} while (more && has_due(source, now) && source->next.time <= until);
	}
	return records;
}
