/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The structures that the files of the emulator share. */
#ifndef ADV_FABRIC_EMULATOR_INTERNAL_H
#define ADV_FABRIC_EMULATOR_INTERNAL_H

#include "base/list.h"
#include "base/spare.h"
#include "base/table.h"
#include "fabric/emulator/emulator.h"
#include "fabric/emulator/lldp.h"
#include "fabric/emulator/network.h"
#include "runtime/link/port.h"
#include "runtime/link/port_clock.h"
#include "runtime/link/ring.h"
#include "runtime/link/tap_ring.h"
#include "nic/wire/slot.h"

#define EMULATOR_TX_MIN	 65536u
#define EMULATOR_TX_MAX	 (1u << 20)
#define EMULATOR_RX_RING (4u << 20) /* a program may be off its processor for some time */

/* adv_fabric_frame.tag of the frames of programs. */
enum emulator_tag {
	EMULATOR_LOCAL = 1, /* the GIDs are the link-local ones */
	EMULATOR_V1 = 2,    /* a RoCE v1 frame; its priority is its service level */
};

/* A frame of a program whose priority is not wanted yet. */
struct emulator_frame {
	struct emulator_frame *next;
	struct adv_fabric_frame frame;
	uint8_t priority;
	uint8_t bytes[ADV_FABRIC_EXTERNAL_MAX];
};

/* A connection: of a process that sends frames, or of a tool. */
struct emulator_program {
	struct adv_list node; /* in `programs` of its host, or in `tools` of the emulator */
	struct adv_emulator *emulator;
	uint32_t host; /* in whose namespace the connection was made; UINT32_MAX: in none */
	int sock;
	pid_t pid;
	bool attached;
	bool closing;
	int room; /* struct adv_port_flag; -1: not attached */
	uint8_t *memory;
	struct adv_port_flag *flag;
	struct adv_ring_writer writer;
	struct adv_ring_reader reader;
	uint32_t read_since_full;	       /* bytes */
	struct emulator_program *written_next; /* see emulator.written */
	bool written;
	uint32_t kept_count;
	struct emulator_frame *kept[ADV_PRIORITIES]; /* oldest first */
	struct emulator_frame *kept_last[ADV_PRIORITIES];
	struct emulator_frame *fresh; /* what the ring's reader has just read */
	struct adv_link_counters counters;
};

struct emulator_host {
	struct adv_list programs;
	uint32_t attached;
	uint32_t placed; /* processes, see place.c */
	int listener;
	int bell; /* in the host's namespace; rings the bells of its programs, and is rung by them
		   */
	adv_bell_name bell_name;
	/* The program that owns each prefix of QP numbers; NULL: no program was attached yet. */
	struct emulator_program **owner;
	uint64_t tx_refused;   /* frames with a wrong address or length */
	uint64_t rx_unclaimed; /* frames to a QP number that no process has */
	uint64_t rx_overrun;   /* frames for which a process had no room */
};

/* A process that was put on a host. */
struct emulator_placed {
	struct adv_list node; /* in `placed` of the emulator */
	pid_t pid;
	int pidfd;
	uint32_t host;
};

struct emulator_flow;

/* The flows of programs. */
struct emulator_flows {
	uint64_t key[2]; /* of the hashes: programs choose the queue pairs */
	struct adv_table table;
	struct emulator_flow *flow; /* ADV_EMULATOR_FLOWS entries; NULL: flows are not counted */
	uint32_t count;
	struct adv_emulator_flow others;
};

#define EMULATOR_CAPTURES 8

/* A capture at one end of a cable. */
struct emulator_capture {
	const struct emulator_program *owner; /* the tool's connection; NULL: unused */
	uint32_t link;
	unsigned end;
	struct adv_tap_memory *memory;
	struct adv_tap_writer writer;
};

/* Virtual time. */
struct emulator_time {
	struct adv_pace pace;
	int fd; /* of *memory */
	struct adv_port_time *memory;
	/* Time of the clock, ns, until which the emulator runs again; UINT64_MAX: there is no
	 * program. */
	uint64_t promise;
};

struct adv_emulator {
	struct adv_emulator_config config;
	struct adv_port_place place; /* that of host 0 */
	struct adv_network network;
	struct emulator_time time;
	struct adv_lldp lldp;
	struct emulator_flows flows;
	int epoll;
	int listener; /* in the namespace in which the emulator was started */
	struct adv_spare spare;
	bool down;
	int report_fd; /* for ADV_PORT_DOWN; -1: no report is wanted */
	int down_sock;
	bool awake;	    /* the readers of the rings do not sleep */
	uint64_t active_at; /* clock's time of the last frame, ns */
	struct emulator_host *host;
	struct adv_list tools;
	struct adv_list placed; /* struct emulator_placed */
	uint32_t placed_count;
	uint32_t programs;		  /* connections */
	uint32_t attached;		  /* programs that have rings */
	struct emulator_program *written; /* programs with new frames in their ring */
	struct emulator_frame *unused;
	struct emulator_frame *lent; /* the frame of the last pull */
	struct emulator_capture capture[EMULATOR_CAPTURES];
	/* Frames that are captured at this virtual time, ps, have this time of day, ns; 0: there
	 * was no capture yet. */
	uint64_t capture_virtual;
	uint64_t capture_day;
};

/* ---- programs.c ---- */

extern const struct adv_fabric_external_ops adv_emulator_ops;

/* Gives the program rings. 0 or errno; the descriptors of enum adv_port_fd before ADV_PORT_TIME
 * then belong to the caller. */
int adv_emulator_attach(struct adv_emulator *e, struct emulator_program *p, int fd[ADV_PORT_TIME]);
/* Sets the owner of `count` prefixes from `first` on. 0 or EINVAL. */
int adv_emulator_claim(struct adv_emulator *e, struct emulator_program *p, uint32_t first,
		       uint32_t count);
/* Frees the program and closes its connection. */
void adv_emulator_drop(struct adv_emulator *e, struct emulator_program *p);
/* Tells the NICs of hosts whose programs have sent. True if some program has. */
bool adv_emulator_look(struct adv_emulator *e);
/* Wakes the programs that have got frames. */
void adv_emulator_wake(struct adv_emulator *e);
/* Sets whether programs ring the bell for each frame. False: a frame is there already. */
bool adv_emulator_sleep(struct adv_emulator *e, bool sleeping);
void adv_emulator_free_frames(struct adv_emulator *e);

/* ---- service.c ---- */

/* Opens the socket for tools, in the present namespace. 0, or errno with a line in why[]. */
int adv_emulator_listen_here(struct adv_emulator *e, char why[ADV_EMULATOR_WHY]);
/* Opens the sockets in the namespaces of the hosts. 0, or errno with a line in why[]. */
int adv_emulator_listen(struct adv_emulator *e, char why[ADV_EMULATOR_WHY]);
/* Serves connections; waits at most `wait` ns, or for ever: UINT64_MAX. */
void adv_emulator_serve(struct adv_emulator *e, uint64_t wait);
/* Answers the tool that ended the emulator. */
void adv_emulator_answer_down(struct adv_emulator *e, int error);
void adv_emulator_close(struct adv_emulator *e);

/* ---- place.c ---- */

/* Chooses the host for a process, by the name or pattern in m->text, and counts the process there.
 * 0, and m->place is that of the host. *placed: a new record, whose pidfd becomes readable when the
 * process exits; NULL: there is none. Otherwise errno, with the reason in m->text. */
int adv_emulator_place(struct adv_emulator *e, pid_t pid, struct adv_port_message *m,
		       struct emulator_placed **placed);
/* Forgets a process: it has exited, or its exit cannot be seen. */
void adv_emulator_unplace(struct adv_emulator *e, struct emulator_placed *p);

/* ---- cable.c ---- */

#define EMULATOR_END_NAME 32

/* Writes the name of an end of a cable: "h3", a host, or "s1:4", a port of a switch. */
void adv_emulator_name_end(const struct adv_topology *t, const struct adv_link_end *end,
			   char name[EMULATOR_END_NAME]);

/* Changes the cable that m->text names, such as "s1:4 down". 0, or errno with the reason in
 * m->text. */
int adv_emulator_change_cable(struct adv_emulator *e, struct adv_port_message *m);

/* Finds the cable and its end that m->text names, such as "s1:4". 0, or ENOENT with the reason in
 * m->text. */
int adv_emulator_find_cable(const struct adv_emulator *e, struct adv_port_message *m,
			    uint32_t *cable, unsigned *end);

/* ---- capture.c ---- */

/* Begins a capture for a tool, which it names in m->text; m->first: bytes of each frame to keep. 0,
 * and *fd is the memory of the ring, which the caller closes; m->count is its size. Otherwise
 * errno, with the reason in m->text if it does not explain itself. */
int adv_emulator_capture(struct adv_emulator *e, struct emulator_program *p,
			 struct adv_port_message *m, int *fd);
/* Ends the captures of a connection. */
void adv_emulator_end_captures(struct adv_emulator *e, const struct emulator_program *p);
/* See adv_fabric_external_ops. */
void adv_emulator_seen(void *user, uint32_t link, unsigned end, bool out,
		       const struct adv_packet *p);

/* ---- flows.c ---- */

/* Allocates the table. 0 or errno; *s must be closed in both cases. */
int adv_emulator_flows_open(struct emulator_flows *s);
void adv_emulator_flows_close(struct emulator_flows *s);
/* Counts a frame that host `from` sends at virtual time `now`, ps. */
void adv_emulator_count_sent(struct emulator_flows *s, uint32_t from,
			     const struct adv_fabric_frame *frame, uint64_t now);
/* Counts a frame that has arrived at host `to`. */
void adv_emulator_count_received(struct emulator_flows *s, uint32_t to,
				 const struct adv_fabric_frame *frame, uint64_t now);
/* Returns all flows, those with the most bytes first, that of the others last. The caller frees
 * them. NULL: no memory. */
struct adv_emulator_flow *adv_emulator_flows(const struct emulator_flows *s, uint32_t *count);

/* ---- time.c ---- */

/* Makes the memory. 0 or errno; *t must be closed in both cases. */
int adv_emulator_time_open(struct emulator_time *t);
/* Lets the devices' clocks run without limit. */
void adv_emulator_time_close(struct emulator_time *t);
/* Virtual time `virtual_now`, ps, is now. The numbers are those of adv_emulator_config. */
void adv_emulator_time_start(struct emulator_time *t, uint32_t numerator, uint32_t denominator,
			     uint64_t now, uint64_t virtual_now);
/* Call it at least at adv_emulator_time_wake(). Gives up time if the next event, at virtual time
 * `next`, or this call is too late. Renews the promise. programs: any is attached. */
void adv_emulator_time_look(struct emulator_time *t, uint64_t next, uint64_t now, bool programs);
/* Returns the time at which to call adv_emulator_time_look() again, ns; UINT64_MAX: there is none.
 */
uint64_t adv_emulator_time_wake(const struct emulator_time *t);

/* ---- state.c ---- */

/* Writes the state as JSON into a memfd. Returns its descriptor, or -1 with errno. */
int adv_emulator_state(const struct adv_emulator *e);

#endif
