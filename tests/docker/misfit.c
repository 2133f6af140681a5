/* What the entrypoints of hostile images do, by their first argument. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int join(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/channel/agent.sock"};
    int to = socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(to, (struct sockaddr *)&address, sizeof address) ? -1 : to;
}

static void writable(const char *path) {
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    printf("%s %s\n", path, file < 0 ? "refused" : "WRITTEN");
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    char line[256];
    setvbuf(stdout, NULL, _IONBF, 0);
    if (!strcmp(what, "sleep")) sleep(1000);
    if (!strcmp(what, "babble")) {
        int to = join();
        for (;;) if (write(to, "GET / HTTP/1.1\r\n\r\n", 18) < 0) return 0;
    }
    if (!strcmp(what, "mute")) join(), sleep(1000);
    if (!strcmp(what, "flood")) for (;;) puts("I am an image, hear me roar");
    if (!strcmp(what, "look")) {
        FILE *status = fopen("/proc/self/status", "r");
        while (fgets(line, sizeof line, status))
            if (!strncmp(line, "Uid", 3) || !strncmp(line, "Gid", 3) || !strncmp(line, "Groups", 6) || !strncmp(line, "CapEff", 6))
                fputs(line, stdout);
        printf("channel=%s home=%s own=%s\n", getenv("PULLRANK_CHANNEL"), getenv("HOME"), getenv("OWN"));
        writable("/data/x"), writable("/x"), writable("/submission/x"), writable("/channel/x"), writable("/tmp/x");
        if (getcwd(line, sizeof line)) printf("in %s\n", line);
        return 3;
    }
    return 4;
}
