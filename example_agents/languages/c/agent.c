/* An agent in C, linked statically, that speaks the board's protocol (see the page "The protocol") and plays CartPole-v1:
 * it pushes the cart under where the pole will be. Whoever plays one task only knows its spaces, so the JSON of HELLO is
 * skipped. Numbers are little-endian on the wire and on every machine this is built for. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { HELLO = 1, READY = 2, ACT = 3, ACTIONS = 4 };
enum { LARGEST = 1 << 20, NUMBERS = 4, LANE_HEAD = 8, COUNT = 8 };

struct __attribute__((packed)) head {
    uint32_t length;
    uint8_t opcode;
};

static int in = 0, out = 1;
static char body[LARGEST];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* The referee closes the stream when all episodes are played: that is a good end. */
static void receive(void *to, size_t length) {
    for (char *at = to; length > 0;) {
        ssize_t got = read(in, at, length);
        if (got == 0) exit(0);
        if (got < 0) fail("read");
        at += got;
        length -= (size_t)got;
    }
}

static void transmit(const void *from, size_t length) {
    for (const char *at = from; length > 0;) {
        ssize_t sent = write(out, at, length);
        if (sent < 0) fail("write");
        at += sent;
        length -= (size_t)sent;
    }
}

static void answer(uint8_t opcode, const void *content, uint32_t length) {
    struct head head = {length, opcode};
    transmit(&head, sizeof head);
    transmit(content, length);
}

/* Position, speed, angle, angular speed: 0 pushes to the left, 1 to the right. */
static int64_t balance(const float observation[NUMBERS]) {
    return observation[2] + observation[3] > 0;
}

static void act(uint32_t length) {
    uint32_t count;
    memcpy(&count, body, sizeof count);
    size_t begin = COUNT + (size_t)LANE_HEAD * count;
    if (begin + count * NUMBERS * sizeof(float) > length) fail("an ACT frame that is too short");
    int64_t actions[count];
    for (uint32_t lane = 0; lane < count; lane++) {
        float observation[NUMBERS];
        memcpy(observation, body + begin + lane * sizeof observation, sizeof observation);
        actions[lane] = balance(observation);
    }
    answer(ACTIONS, actions, count * (uint32_t)sizeof actions[0]);
}

static void join(const char *channel) {
    if (channel == NULL) fail("PULLRANK_CHANNEL is not set");
    if (strcmp(channel, "-") == 0) return;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, channel, sizeof address.sun_path - 1);
    in = out = socket(AF_UNIX, SOCK_STREAM, 0);
    if (in < 0 || connect(in, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
}

int main(void) {
    static const char ready[] = "{\"protocol\": 1, \"shared\": true}";
    join(getenv("PULLRANK_CHANNEL"));
    for (;;) {
        struct head head;
        receive(&head, sizeof head);
        if (head.length > LARGEST) fail("a frame that is too long");
        receive(body, head.length);
        if (head.opcode == HELLO) answer(READY, ready, sizeof ready - 1);
        else if (head.opcode == ACT) act(head.length);
        else return 0; /* any other frame is the end */
    }
}
