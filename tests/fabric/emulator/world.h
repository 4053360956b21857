/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An emulator without namespaces and clock, with a program on each of two hosts: h0 at port 0 of
 * switch 0, h1 at port 0 of switch 1, and a trunk between their ports 1. */
#ifndef ADV_TESTS_FABRIC_EMULATOR_WORLD_H
#define ADV_TESTS_FABRIC_EMULATOR_WORLD_H

#include "fabric/emulator/internal.h"

#define WORLD_HOSTS	  2
#define WORLD_QPN(prefix) ((uint32_t)(prefix) << ADV_PREFIX_SHIFT)
#define WORLD_PREFIX	  2u /* each program owns its queue pairs */
#define WORLD_PS_PER_BYTE 80u

struct world_program {
	struct emulator_program *p; /* NULL: a test has dropped it */
	int room;		    /* the program's end of the socket */
	struct adv_ring_writer writer;
	struct adv_ring_reader reader;
	uint32_t received;
	struct adv_rx_meta last; /* of the last frame received */
};

struct world {
	struct adv_topology topology;
	struct adv_emulator emulator;
	struct world_program program[WORLD_HOSTS];
};

/* cmocka set-up and teardown: *state is a struct world. */
int world_open(void **state);
int world_close(void **state);

struct world_frame {
	uint32_t from; /* host; the frame goes to the other one */
	uint32_t qpn;  /* destination */
	uint8_t tclass;
	uint32_t payload; /* bytes behind the BTH; byte i is i */
};

/* Starts a further program on a host. It owns `prefix`. */
void world_start(struct world *w, struct world_program *g, uint32_t host, uint32_t prefix);
void world_stop(struct world *w, struct world_program *g);
/* Makes the path from the IPv4 address of a host to that of another one. */
void world_path(const struct world *w, uint32_t from, uint32_t to, struct adv_path *path);
/* A program writes a frame into its ring: f->from is not used. False: there is no room. */
bool world_put(struct world_program *g, const struct adv_path *path, const struct world_frame *f);
/* The program of a host writes a frame into its ring. */
void world_send(struct world *w, const struct world_frame *f);
/* A program receives all frames in its ring. */
void world_read(struct world_program *g);
/* Runs the fabric for some virtual time, ps; the programs receive. */
void world_run(struct world *w, uint64_t time);

#endif
