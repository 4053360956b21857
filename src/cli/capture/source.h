/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The processes whose packets `adverb capture` captures: finds them, begins their captures while
 * they run, and reads their rings in the order of time. */
#ifndef ADV_CLI_CAPTURE_SOURCE_H
#define ADV_CLI_CAPTURE_SOURCE_H

#include "runtime/exchange/capture_exchange.h"

/* Which processes are captured. All numbers 0 and cm false: all that the caller may capture. */
struct adv_capture_choice {
	uint32_t pid;
	uint32_t slot;
	uint32_t qpn; /* the process that has this QP number */
	bool cm;      /* adverbd: the packets of QP 1 */
};

struct adv_sources_config {
	struct adv_capture_choice choice;
	uint32_t size;	/* bytes of each ring */
	uint32_t limit; /* bytes of each packet to keep, from the BTH on */
	enum adv_capture_place place;
	bool quiet; /* do not report processes that are found */
};

enum adv_source_state {
	ADV_SOURCE_ASKED,   /* the process has not answered yet */
	ADV_SOURCE_OPEN,    /* its packets are captured */
	ADV_SOURCE_FAILED,  /* it cannot be captured; another try follows later */
	ADV_SOURCE_REFUSED, /* it can never be captured: another user's */
	ADV_SOURCE_ENDED,   /* it has ended, and its ring is empty */
};

/* A process with one slot; a process may have several. */
struct adv_source {
	unsigned index; /* from 0, in the order in which they were found */
	uint32_t slot;	/* 0: adverbd */
	uint32_t pid;	/* 0: not known */
	char comm[16];
	enum adv_source_state state;
	bool given;	/* adverbd has passed its socket; slot, pid and comm come with the answer */
	uint64_t until; /* ASKED: end of the wait; FAILED: next try; ns of adv_clock_ns() */
	int told;	/* the error that was printed last; 0: none */
	struct adv_capture_ring ring;
	struct adv_tap_reader reader;
	bool has_next;
	struct adv_tap_record next; /* if has_next: the oldest record */
	uint64_t end;		    /* the ring's head when this round began */
	uint64_t earlier;	    /* the ring's head when the round before it began */
	uint64_t dropped;	    /* packets that the ring had no room for; valid when ENDED */
};

struct adv_sources;

/* Handles one record. `data`: its headers and payload. Returns false to stop. */
typedef bool adv_source_fn(void *user, const struct adv_source *s,
			   const struct adv_tap_record *record, const uint8_t *data);

/* NULL: no adverbd, after an error message. */
struct adv_sources *adv_sources_create(const struct adv_sources_config *config);
void adv_sources_destroy(struct adv_sources *s);

/*
 * Looks for new processes, and for answers and ends of known ones. Blocks only while adverbd
 * answers. If adverbd has ended, connects again when another one runs.
 */
void adv_sources_look(struct adv_sources *s);

/* Number of sources that are ASKED or OPEN; and whether any was ever OPEN. */
unsigned adv_sources_live(const struct adv_sources *s);
bool adv_sources_had_any(const struct adv_sources *s);

/* True if a process was chosen and can never be captured; the reason has been printed. */
bool adv_sources_refused(const struct adv_sources *s);

/*
 * Passes the records that were written before this call to fn, in the order of time. Records of one
 * process keep their order. `last`: also newer ones. Returns the number of records.
 */
uint64_t adv_sources_drain(struct adv_sources *s, bool last, adv_source_fn *fn, void *user);

/* Makes all processes stop writing. */
void adv_sources_stop(struct adv_sources *s);

/* Returns the source with this index; NULL: there are no more. */
const struct adv_source *adv_sources_get(const struct adv_sources *s, size_t index);

/* Returns the packets that the source's ring had no room for. */
uint64_t adv_source_dropped(const struct adv_source *source);

/* Returns the connection to adverbd; NULL: it is lost at present. */
struct adv_control *adv_sources_control(const struct adv_sources *s);

#endif
