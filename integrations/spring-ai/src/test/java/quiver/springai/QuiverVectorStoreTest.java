package quiver.springai;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.ai.document.Document;
import org.springframework.ai.vectorstore.SearchRequest;
import org.springframework.ai.vectorstore.VectorStore;

/** Against a running service (QUIVER_URL, QUIVER_API_KEY): `npm run test:integrations -- spring-ai`. */
class QuiverVectorStoreTest {

  private static final String URL = System.getenv("QUIVER_URL");
  private static final String KEY = System.getenv("QUIVER_API_KEY");

  private final VectorStore store = new QuiverVectorStore(URL, KEY, "spring-ai");

  @BeforeEach
  void fill() throws Exception {
    call("DELETE", "/v1/collections/spring-ai", "");
    call("POST", "/v1/collections", "{\"name\": \"spring-ai\", \"dim\": 64}");
    store.add(
        List.of(
            new Document("river", "The river floods its valley every spring", Map.of("topic", "rivers", "year", 2021)),
            new Document("snow", "Snow covers the mountains until June", Map.of("topic", "mountains", "year", 2022)),
            new Document("ships", "Ships go up the river to the harbour", Map.of("topic", "rivers", "year", 2023))));
  }

  @Test
  void findsTextsWithMetadataAndScores() {
    List<Document> found = store.similaritySearch(SearchRequest.builder().query("snow on mountains").topK(1).build());
    assertEquals(List.of("snow"), ids(found));
    assertEquals("Snow covers the mountains until June", found.get(0).getText());
    assertEquals(2022, found.get(0).getMetadata().get("year"));
    assertTrue(found.get(0).getScore() > 0);
  }

  @Test
  void filters() {
    assertEquals(List.of("ships"), found("topic == 'rivers' && year > 2021"));
    assertEquals(List.of("river", "snow"), found("year <= 2022"));
    assertEquals(List.of("river", "ships"), found("topic in ['rivers', 'lakes']"));
    assertEquals(List.of("snow"), found("topic nin ['rivers']"));
    assertEquals(List.of("snow"), found("not (topic == 'rivers')"));
    assertEquals(List.of("river", "snow"), found("(topic == 'rivers' && year < 2023) || topic != 'rivers'"));
  }

  @Test
  void leavesOutWhatScoresLess() {
    SearchRequest request = SearchRequest.builder().query("snow").topK(3).similarityThreshold(0.999).build();
    assertEquals(List.of(), ids(store.similaritySearch(request)));
  }

  @Test
  void deletesByIdsAndByFilter() {
    store.delete(List.of("snow", "never there"));
    assertEquals(List.of("river", "ships"), found("year > 0"));
    store.delete("year >= 2023");
    assertEquals(List.of("river"), found("year > 0"));
  }

  @Test
  void tellsWhatIsWrong() {
    VectorStore other = new QuiverVectorStore(URL, KEY, "spring-a");
    IllegalStateException error =
        assertThrows(IllegalStateException.class, () -> other.similaritySearch("anything"));
    assertEquals("404: collection \"spring-a\" does not exist; did you mean \"spring-ai\"?", error.getMessage());
  }

  private List<String> found(String filter) {
    SearchRequest request = SearchRequest.builder().query("river").topK(10).filterExpression(filter).build();
    return ids(store.similaritySearch(request)).stream().sorted().toList();
  }

  private static List<String> ids(List<Document> documents) {
    return documents.stream().map(Document::getId).toList();
  }

  private static void call(String method, String path, String body) throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(URL + path)).header("x-api-key", KEY);
    if (body.isEmpty()) request.method(method, HttpRequest.BodyPublishers.noBody());
    else request.header("content-type", "application/json").method(method, HttpRequest.BodyPublishers.ofString(body));
    HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.discarding());
  }
}
